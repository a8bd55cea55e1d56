"""Static word vectors: the table a head's word embedding starts from, and the look-up into it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from elmo_bench.types import Words


@dataclass(frozen=True)
class WordTable:
    """Rows for words; row 0 is padding and row 1 the unknown word, both zero before training."""

    words: tuple[str, ...]  # row of a word = its position here + 2
    matrix: Tensor  # (2 + words, dim); dim is 0 where a task has no word vectors
    trainable: bool

    @property
    def dim(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row + 2 for row, word in enumerate(self.words)}

    def ids(self, words: Words) -> Tensor:
        """(time,) row numbers: the word itself, else lower-cased, else its number token, else 1."""
        return torch.tensor([self._row(word) for word in words], dtype=torch.long)

    def _row(self, word: str) -> int:
        return self._rows.get(word) or self._rows.get(word.lower()) or 1
