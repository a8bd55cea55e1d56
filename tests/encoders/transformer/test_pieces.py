"""Words become the pieces that they have inside a text, and no word takes those of its neighbour."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from elmo_bench.encoders.transformer.files import read_files
from elmo_bench.encoders.transformer.pieces import WordPieces
from elmo_bench.testing.encoders import UNUSUAL
from elmo_bench.types import DataError, UsageError
from tests.support.tiny_transformers import (
    SENTENCES,
    byte_level,
    save_tiny,
    sentence_piece_bytes,
    unigram,
    word_piece,
)

KINDS: dict[str, Callable[[], Tokenizer]] = {
    "word_piece": word_piece,
    "byte_level": byte_level,
    "byte_level_prefixed": lambda: byte_level(add_prefix_space=True),
    "unigram": unigram,
    "sentence_piece": sentence_piece_bytes,
}
HOSTILE = (
    *UNUSUAL,
    "",
    "  ",
    "\t\n",
    "\x00",
    "a\x00b",
    "\u200d",
    "\u202e",
    "مرحبا",
    "🏳️‍🌈",
    "\ud83d",  # half a character
    "\ud83dend",
    "e" + "\u0301" * 300,
)
words = st.one_of(
    st.text(max_size=12), st.sampled_from(HOSTILE), st.characters(categories=["Cs", "Cc", "Cf"])
)


@pytest.fixture(scope="module")
def cutters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[WordPieces, Tokenizer]]:
    root = tmp_path_factory.mktemp("tokenizers")
    for name, make in KINDS.items():
        save_tiny(root / name, "bert", make())
    files = {name: read_files(root / name, name) for name in KINDS}
    return {
        name: (WordPieces(files[name]), Tokenizer.from_file(str(files[name].tokenizer))) for name in KINDS
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_has_the_pieces_of_the_joined_text(
    kind: str, cutters: dict[str, tuple[WordPieces, Tokenizer]]
) -> None:
    ours, tokenizer = cutters[kind]
    for sentence in SENTENCES:
        pieces = [piece for word in ours.of(sentence) for piece in word]
        assert [*ours.before, *pieces, *ours.after] == tokenizer.encode(" ".join(sentence)).ids


@settings(deadline=None, max_examples=60)
@given(sentence=st.lists(words, min_size=1, max_size=8))
@pytest.mark.parametrize("kind", KINDS)
def test_every_word_has_its_own_pieces_whatever_its_neighbours(
    kind: str, cutters: dict[str, tuple[WordPieces, Tokenizer]], sentence: list[str]
) -> None:
    ours, tokenizer = cutters[kind]
    found = ours.of(tuple(sentence))
    assert len(found) == len(sentence) and all(found)
    space = " " if kind == "byte_level" else ""
    clean = [word.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for word in sentence]
    spaced = [clean[0], *(space + word for word in clean[1:])]
    aligned = tokenizer.encode(spaced, is_pretokenized=True, add_special_tokens=False)
    for position, pieces in enumerate(found):
        theirs = [
            piece for piece, word in zip(aligned.ids, aligned.word_ids, strict=True) if word == position
        ]
        assert theirs in ([], list(pieces)), (sentence, position)


@pytest.mark.parametrize(("kind", "word"), [("word_piece", word) for word in ("", "  ", "\x07", "\u00ad")])
def test_a_word_without_pieces_is_unknown_at_its_place(
    kind: str, word: str, cutters: dict[str, tuple[WordPieces, Tokenizer]]
) -> None:
    ours, tokenizer = cutters[kind]
    the, empty, bank = ours.of(("the", word, "bank"))
    assert empty == (tokenizer.token_to_id("[UNK]"),)
    assert [the, bank] == ours.of(("the", "bank"))


def test_a_vocabulary_without_an_unknown_piece_spells_the_replacement_character(
    cutters: dict[str, tuple[WordPieces, Tokenizer]],
) -> None:
    ours, tokenizer = cutters["byte_level"]
    (empty,) = ours.of(("",))
    assert list(empty) == tokenizer.encode(" \ufffd", add_special_tokens=False).ids


def test_half_a_character_is_read_as_the_replacement_character(
    cutters: dict[str, tuple[WordPieces, Tokenizer]],
) -> None:
    for ours, _ in cutters.values():
        assert ours.of(("a\ud800b",)) == ours.of(("a\ufffdb",))


def test_words_keep_their_space_where_a_tokeniser_forgets_it_for_given_words(tmp_path: Path) -> None:
    """ModernBERT: add_prefix_space is asked for and not heeded, so given words lose their space."""
    tokenizer = byte_level()
    directory = save_tiny(tmp_path, "modernbert", tokenizer)
    theirs = tokenizer.encode(["the", "bank"], is_pretokenized=True, add_special_tokens=False)
    ours = WordPieces(read_files(directory, "")).of(("the", "bank"))
    text = tokenizer.encode("the bank", add_special_tokens=False)
    assert [piece for word in ours for piece in word] == text.ids != theirs.ids


@pytest.mark.parametrize("asked", [None, False, True])
def test_the_first_word_has_a_space_if_the_tokeniser_says_so(asked: bool | None, tmp_path: Path) -> None:
    chosen = {} if asked is None else {"add_prefix_space": asked}
    directory = save_tiny(tmp_path, "roberta", byte_level())
    rewrite(directory, chosen)
    ours = WordPieces(read_files(directory, ""))
    spaced = Tokenizer.from_file(str(directory / "tokenizer.json")).encode(
        " bank" if asked else "bank", add_special_tokens=False
    )
    assert ours.of(("bank",)) == [tuple(spaced.ids)]


def rewrite(directory: Path, values: dict[str, object]) -> None:
    (directory / "tokenizer_config.json").write_text(json.dumps(values))


@pytest.mark.parametrize("lower", [None, False, True])
def test_case_is_that_of_the_files(lower: bool | None, tmp_path: Path) -> None:
    directory = save_tiny(tmp_path, "bert")  # its tokenizer.json lowers
    rewrite(directory, {} if lower is None else {"do_lower_case": lower})
    ours = WordPieces(read_files(directory, ""))
    assert (ours.of(("BANK",)) == ours.of(("bank",))) == (lower is not False)


def test_a_limit_and_padding_in_the_file_are_not_heeded(tmp_path: Path) -> None:
    """The published tokeniser of all-MiniLM-L6-v2 cuts at 128 pieces and pads to them."""
    tokenizer = byte_level()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=6)
    ours = WordPieces(read_files(save_tiny(tmp_path, "roberta", tokenizer), ""))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    (pieces,) = ours.of(("riversbanksoldthe",))
    assert list(pieces) == tokenizer.encode("riversbanksoldthe", add_special_tokens=False).ids
    assert len(pieces) > 4
    assert len(ours.of(("the",))[0]) == 1


def test_a_tokeniser_whose_words_cannot_be_told_apart_is_refused(tmp_path: Path) -> None:
    tokenizer = word_piece()
    tokenizer.normalizer = normalizers.Replace("a b", "c")
    with pytest.raises(UsageError, match=r"reads the text 'a b' as 'c', and its words give something else"):
        WordPieces(read_files(save_tiny(tmp_path, "bert", tokenizer), ""))


def test_a_tokeniser_that_has_no_piece_for_unknown_words_is_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(DataError, match=r"tokenizer\.json: found neither a piece for unknown words"):
        WordPieces(read_files(save_tiny(tmp_path, "bert", tokenizer), ""))
