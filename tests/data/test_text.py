"""Shards of running text: reading, numbering, the vocabulary of targets."""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from pathlib import Path

import pytest

from elmo_bench.bilm.training import text as encoded_text
from elmo_bench.bilm.training.text import (
    EncodedText,
    encode_sentences,
    encode_shards,
    fingerprint_files,
)
from elmo_bench.data.text import MARKERS, TargetVocabulary, TextCorpus, read_sentences
from elmo_bench.types import DataError, DataMissingError, UsageError

SENTENCES = [("the", "cat", "saw", "the", "dog"), ("a", "dog", "ran"), ("the", "end"), ("café", "!")]
TEXT = "\n".join(" ".join(words) for words in SENTENCES) + "\n"


def decode(text: EncodedText) -> list[tuple[str, ...]]:
    words = [text.types[number] for number in text.tokens]
    return [tuple(words[start:end]) for start, end in zip(text.starts[:-1], text.starts[1:], strict=True)]


@pytest.fixture
def shards(tmp_path: Path) -> tuple[Path, Path]:
    """The same sentences in a plain file with blank lines and in a zipped one."""
    plain, zipped = tmp_path / "train-1.txt", tmp_path / "train-2.txt.gz"
    plain.write_text("\n" + TEXT.replace(" ", "  ") + " \n", encoding="utf-8")
    zipped.write_bytes(gzip.compress(TEXT.encode()))
    return plain, zipped


def test_plain_and_zipped_shards_read_the_same_one_after_the_other(shards: tuple[Path, Path]) -> None:
    assert list(read_sentences(shards[:1])) == list(read_sentences(shards[1:])) == SENTENCES
    assert list(read_sentences(shards)) == SENTENCES * 2


def test_a_shard_is_streamed(tmp_path: Path) -> None:
    """What stands before a damaged line is read before the damage is met."""
    path = tmp_path / "train.txt"
    path.write_bytes(b"good line\nanother\nbad \xff\n")
    sentences = read_sentences([path])
    assert [next(sentences), next(sentences)] == [("good", "line"), ("another",)]
    with pytest.raises(DataError, match=r"train\.txt:3: expected UTF-8"):
        next(sentences)


def test_a_damaged_zip_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "train.txt.gz"
    content = gzip.compress(TEXT.encode() * 50)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"train\.txt\.gz: expected a whole gzip file"):
        list(read_sentences([path]))


def test_content_and_not_the_name_tells_whether_a_file_is_compressed(tmp_path: Path) -> None:
    (tmp_path / "train.txt.gz").write_text(TEXT)
    (tmp_path / "train.txt").write_bytes(gzip.compress(TEXT.encode()))
    for path in tmp_path.iterdir():
        assert list(read_sentences([path])) == SENTENCES


def test_types_stand_by_falling_frequency_and_ties_by_alphabet() -> None:
    text = encode_sentences(SENTENCES)
    counts = Counter(word for words in SENTENCES for word in words)
    assert list(text.types) == sorted(counts, key=lambda word: (-counts[word], word))
    assert text.types[:2] == ("the", "dog")
    assert decode(text) == SENTENCES
    assert text.lengths.tolist() == [5, 3, 2, 2]


@pytest.mark.parametrize("chunk", [1, 4, 1000])
def test_numbering_in_files_is_numbering_in_memory_whatever_the_chunks(
    shards: tuple[Path, Path], tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoded_text, "TOKENS_PER_CHUNK", chunk)
    text = encode_shards(shards, tmp_path / "numbers", print)
    expected = encode_sentences(SENTENCES * 2)
    assert text.types == expected.types
    assert text.tokens.tolist() == expected.tokens.tolist()
    assert text.starts.tolist() == expected.starts.tolist()


def test_numbers_on_disk_are_kept_until_a_shard_changes(shards: tuple[Path, Path], tmp_path: Path) -> None:
    encode_shards(shards, tmp_path / "numbers", print)
    written = (tmp_path / "numbers" / "tokens.int32").stat().st_mtime_ns
    encode_shards(shards, tmp_path / "numbers", print)
    assert (tmp_path / "numbers" / "tokens.int32").stat().st_mtime_ns == written
    shards[0].write_text("new words\n")
    changed = encode_shards(shards, tmp_path / "numbers", print)
    assert decode(changed) == [("new", "words"), *SENTENCES]
    (tmp_path / "numbers" / "source.json").unlink()  # as after a kill
    assert decode(encode_shards(shards, tmp_path / "numbers", print)) == [("new", "words"), *SENTENCES]


def test_text_without_a_sentence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("\n \n")
    with pytest.raises(DataError, match=r"train\.txt:1: expected at least one sentence"):
        encode_shards([tmp_path / "train.txt"], tmp_path / "numbers", print)
    with pytest.raises(DataError, match="expected at least one sentence"):
        encode_sentences([])


@pytest.mark.parametrize(("tokens", "every"), [(1000, 1), (500, 1), (100, 5), (60, 8), (1, 500)])
def test_a_part_is_taken_from_all_of_the_text(tokens: int, every: int) -> None:
    sentences = [(f"w{number}", "x", "y", "z", ".") for number in range(100)]
    part = encode_sentences(sentences).spread(tokens)
    assert decode(part) == sentences[::every]
    assert abs(len(part.tokens) - min(tokens, 500)) <= 5


def test_fingerprints_are_of_the_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    assert fingerprint_files([tmp_path / "a"]) == {"a": hashlib.sha256(b"x").hexdigest()}


def test_the_corpus_is_found_by_patterns(shards: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "heldout.txt").write_text(TEXT)
    corpus = TextCorpus.find(tmp_path)
    assert corpus.train == shards and corpus.heldout == (tmp_path / "heldout.txt",)
    with pytest.raises(DataMissingError, match="no file is named dev"):
        TextCorpus.find(tmp_path, heldout="dev*")
    with pytest.raises(DataMissingError, match="no such directory"):
        TextCorpus.find(tmp_path / "absent")
    for pattern in ("", str(tmp_path / "heldout.txt")):
        with pytest.raises(UsageError, match="heldout: expected names of files in the directory"):
            TextCorpus.find(tmp_path, heldout=pattern)


def test_a_vocabulary_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocabulary.txt").write_bytes(b"<S>\n</S>\n<UNK>\ncaf\xe9\n")
    with pytest.raises(DataError, match=r"vocabulary\.txt:4: expected UTF-8 text, got byte 0xe9"):
        TargetVocabulary.read(tmp_path / "vocabulary.txt")


def test_the_vocabulary_is_the_marks_and_the_most_frequent_words() -> None:
    vocabulary = TargetVocabulary.of_frequent(["the", "<UNK>", "dog", "cat"], 2)
    assert vocabulary.words == (*MARKERS, "the", "dog")
    numbers = [vocabulary.number(word) for word in ("the", "dog", "cat", "<UNK>", "</S>")]
    assert numbers == [3, 4, 2, 2, 1]


def test_a_vocabulary_survives_its_file_and_is_known_by_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.txt"
    vocabulary = TargetVocabulary(("</S>", "<S>", "the", "\u2028", "<UNK>"))  # a line break, but not of files
    vocabulary.write(path)
    again = TargetVocabulary.read(path)
    assert again == vocabulary
    assert vocabulary.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert TargetVocabulary(vocabulary.words[::-1]).sha256 != vocabulary.sha256
    assert again.number("never seen") == 4


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("<S>\n</S>\n<UNK>\nx\nx\n", "expected every word once, got 1 repeated"),
        ("<S>\n</S>\nx\n", "expected a line <UNK>"),
        ("", "expected a line <S>"),
    ],
)
def test_a_wrong_vocabulary_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "vocabulary.txt"
    path.write_text(content)
    with pytest.raises(DataError, match=complaint):
        TargetVocabulary.read(path)
