"""Words as rows of byte ids, as the published biLM reads them (bilm-tf, UnicodeCharsVocabulary)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

SENTENCE_START = "<S>"
SENTENCE_END = "</S>"

# Raw ids; rows hold them plus one, because 0 is kept for missing tokens.
_SENTENCE_START_ID = 256
_SENTENCE_END_ID = 257
_WORD_START_ID = 258
_WORD_END_ID = 259
_PADDING_ID = 260

MISSING_ROW_ID = 0
PADDING_ROW_ID = _PADDING_ID + 1

Rows = NDArray[np.int64]


def character_rows(words: Sequence[str], maximum_characters: int = 50) -> Rows:
    """The byte ids of each word, one row each; `<S>` and `</S>` give the sentence marks."""
    rows = np.full((len(words), maximum_characters), PADDING_ROW_ID, dtype=np.int64)  # (words, characters)
    for row, word in zip(rows, words, strict=True):
        ids = _word_ids(word, maximum_characters - 2)
        row[: len(ids)] = ids
    return rows


def _word_ids(word: str, maximum_bytes: int) -> list[int]:
    if word == SENTENCE_START:
        content: Iterable[int] = (_SENTENCE_START_ID,)
    elif word == SENTENCE_END:
        content = (_SENTENCE_END_ID,)
    else:
        content = word.encode("utf-8", "ignore")[:maximum_bytes]
    return [raw + 1 for raw in (_WORD_START_ID, *content, _WORD_END_ID)]


def used_characters(rows: Rows) -> NDArray[np.int64]:
    """How many places of each row a word fills, its two marks included."""
    return np.asarray((rows != PADDING_ROW_ID).sum(axis=1), dtype=np.int64)


def with_marks(words: Sequence[str]) -> list[str]:
    """A sentence between its two marks, as the network reads it."""
    return [SENTENCE_START, *words, SENTENCE_END]
