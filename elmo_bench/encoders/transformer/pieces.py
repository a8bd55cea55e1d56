"""From words to pieces, with the spaces and the case that a model expects.

`tokenizer.json` is read as it is published. The classes of transformers build some tokenisers anew from its
vocabulary alone, and then take case and spaces for granted.

Every word is cut by itself, as the `tokenizers` library does with words that are given to it as words. So the
pieces of a word can never be counted to its neighbour. Only the space before a word gets lost that way; a
tokeniser that writes it into its pieces ("Ġbank") gets it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from elmo_bench.encoders.transformer.files import ModelFiles
from elmo_bench.encoders.transformer.packages import import_package
from elmo_bench.types import DataError, UsageError, Words

Pieces = tuple[int, ...]
"""The ids of one word's pieces; never empty."""

MOST_WORDS = 1 << 17  # that are remembered
SURROGATES = re.compile("[\ud800-\udfff]")  # halves of a character, which no text has
REPLACEMENT = "\ufffd"  # Unicode's own


class WordPieces:
    """The pieces of every word, and the special ones around a text."""

    def __init__(self, files: ModelFiles) -> None:
        self._path = files.tokenizer
        self._backend = _read_backend(files)
        self._space = _space_between_words(self._backend, files)
        self._space_first = self._space if files.tokenizer_settings.get("add_prefix_space") is True else ""
        self.before, self.after = self._special_pieces(files)
        self._unknown = self._find_unknown(files)
        self._cached = lru_cache(maxsize=MOST_WORDS)(self._cut)

    def of(self, words: Words) -> list[Pieces]:
        """The pieces of every word of a text."""
        return [
            self._cached((self._space if position else self._space_first) + word)
            for position, word in enumerate(words)
        ]

    def some_ids(self, below: int) -> list[int]:
        """Three ids of the end of the vocabulary, where plain text is."""
        ids = sorted(number for number in self._backend.get_vocab().values() if number < below)[-3:]
        if len(ids) < 3:
            raise DataError(f"{self._path}: expected a vocabulary of at least three pieces, got {len(ids)}")
        return ids

    def _cut(self, text: str) -> Pieces:
        return self._encode(text) or self._unknown

    def _encode(self, text: str) -> Pieces:
        clean = SURROGATES.sub(REPLACEMENT, text)
        return tuple(self._run(clean, add_special_tokens=False).ids)

    def _run(self, text: str, add_special_tokens: bool) -> Any:
        try:
            return self._backend.encode(text, add_special_tokens=add_special_tokens)
        except Exception as error:  # the library has no type of its own for it
            raise DataError(f"{self._path}: cannot cut {text[:40]!r} ({str(error)[:100]})") from error

    def _special_pieces(self, files: ModelFiles) -> tuple[Pieces, Pieces]:
        """The ids that the tokeniser adds before and after a text."""
        for text in ("a", *self._vocabulary()):
            encoding = self._run(text, add_special_tokens=True)
            inside = [index for index, sequence in enumerate(encoding.sequence_ids) if sequence is not None]
            if inside:
                return tuple(encoding.ids[: inside[0]]), tuple(encoding.ids[inside[-1] + 1 :])
        raise DataError(f"{files.tokenizer}: finds no piece in its own vocabulary")

    def _find_unknown(self, files: ModelFiles) -> Pieces:
        """The piece of words that have none; a vocabulary that can spell everything has no such piece."""
        name = getattr(self._backend.model, "unk_token", None)
        if name is not None and (number := self._backend.token_to_id(name)) is not None:
            return (number,)
        found = self._encode(self._space + REPLACEMENT)  # Unigram's unknown piece, or a spelling
        if not found:
            raise DataError(
                f"{files.tokenizer}: found neither a piece for unknown words nor pieces for U+FFFD"
            )
        return found

    def _vocabulary(self) -> Iterator[str]:
        yield from self._backend.get_vocab(with_added_tokens=False)


def _read_backend(files: ModelFiles) -> Any:
    """The published tokeniser, without a limit of length and without padding."""
    tokenizers = import_package("tokenizers")
    try:
        backend = tokenizers.Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # the library has no type of its own for it
        raise DataError(f"{files.tokenizer}: not a tokeniser ({str(error)[:100]})") from error
    backend.no_truncation()
    backend.no_padding()
    lower = files.tokenizer_settings.get("do_lower_case")
    if isinstance(lower, bool) and isinstance(backend.normalizer, tokenizers.normalizers.BertNormalizer):
        backend.normalizer.lowercase = lower  # where the two files differ, transformers follows this one
    return backend


def _space_between_words(backend: Any, files: ModelFiles) -> str:
    """What must stand before a word so that it is read as it is inside a text: nothing, or a space."""
    text = _as_read(backend, "a b")
    for space in ("", " "):
        if text == _as_read(backend, "a") + _as_read(backend, space + "b"):
            return space
    raise UsageError(
        f"{files.tokenizer}: reads the text 'a b' as {text!r}, and its words give something else, with and "
        "without a space before them; such a tokeniser is not supported (encoder.model)"
    )


def _as_read(backend: Any, text: str) -> str:
    """What is left of a text before it is cut into pieces."""
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    if backend.pre_tokenizer is not None:
        return "".join(part for part, _ in backend.pre_tokenizer.pre_tokenize_str(text))
    return text
