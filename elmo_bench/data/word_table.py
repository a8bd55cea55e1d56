"""The initial table of a head's word embedding, and the look-up in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elmo_bench.data.vectors import WordVectors
from elmo_bench.types import UsageError, Words

NUMBER = "<number>"
UNKNOWN_ROW = 1
SMALL = 0.05  # half the range of the random rows that are added to vectors from a file

Match = Literal["exact", "lower_cased", "number", "training_only", "unknown"]
MATCHES: tuple[Match, ...] = ("exact", "lower_cased", "number", "training_only", "unknown")


@dataclass(frozen=True)
class WordTable:
    """Rows for words; row 0 is padding and row 1 the unknown word, both zero before training."""

    words: tuple[str, ...]  # row of a word = its index in this tuple + 2
    matrix: Tensor  # (2 + words, dim); dim is 0 if a task has no word vectors
    trainable: bool
    from_file: int = 0  # the number of first words that have vectors from a file
    in_training: tuple[int, ...] | None = None  # the rows that training can change; None: any of them
    widths: tuple[int, ...] = ()  # dimensions of the files that were joined

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self.matrix.shape[1])

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row + 2 for row, word in enumerate(self.words)}

    @cached_property
    def _ids(self) -> dict[str, int]:
        """The rows of the words that were looked up before, among them words without a row of their own."""
        return {}

    def ids(self, words: Words) -> Tensor:
        """(time,) row indices: the word itself, else lower-cased, else its number token, else 1."""
        known = self._ids
        try:
            return torch.tensor([known[word] for word in words], dtype=torch.long)
        except KeyError:
            known.update((word, self._find(word)[0]) for word in words)
            return self.ids(words)

    def _find(self, word: str) -> tuple[int, Match]:
        rows = self._rows
        if row := rows.get(word):
            return row, "exact" if row < self.from_file + 2 else "training_only"
        if row := rows.get(word.lower()):
            return row, "lower_cased" if row < self.from_file + 2 else "training_only"
        if is_number(word) and (row := rows.get(NUMBER)):
            return row, "number"
        return UNKNOWN_ROW, "unknown"

    def coverage(self, sentences: Iterable[Words]) -> dict[str, float]:
        """The number of tokens, and the percentage found by each rule of the look-up."""
        found: Counter[Match] = Counter()
        for word, count in Counter(word for words in sentences for word in words).items():
            found[self._find(word)[1]] += count
        tokens = found.total()
        return {"tokens": tokens} | {match: 100 * found[match] / max(tokens, 1) for match in MATCHES}


def is_number(word: str) -> bool:
    """Whether a word consists of digits and symbols only: 1987, 3.14, $5, 10-12."""
    return any(map(str.isdigit, word)) and not any(map(str.isalpha, word))


def word_table(
    kind: Literal["file", "random", "none"],
    vectors: WordVectors | None,
    training_words: Iterable[str],
    dim: int,
    seed: int,
    trainable: bool,
) -> WordTable:
    """A table of the file's words, a number token, and the other training words.

    `vectors` goes with kind `file`, which has its own dimension; `dim` with kind `random`. A table of frozen
    vectors has only the file's words: every other word is unknown, in training and test text alike.
    """
    if kind == "none":
        return WordTable((), torch.zeros(2, 0), trainable=False)
    if kind == "random":
        if dim < 1:
            raise UsageError(f"words.dim: expected a positive dimension for random word vectors, got {dim}")
        vectors, half_range = WordVectors((), np.zeros((0, dim), np.float32)), (3 / dim) ** 0.5  # of length 1
    else:
        half_range = SMALL
    if vectors is None:
        raise ValueError("words of kind 'file' need the vectors of a file")
    number = number_vector(vectors)
    covered = (*vectors.words, *[NUMBER] * len(number))
    if kind == "file" and not trainable:
        matrix = lay_out(vectors.matrix, number)
        return WordTable(covered, matrix, False, len(covered), widths=vectors.widths)
    base = WordTable((*covered, *{NUMBER}.difference(covered)), torch.zeros(2, 0), trainable)
    found = {word: base._find(word)[0] for word in dict.fromkeys(training_words)}
    added = sorted(word for word, row in found.items() if row == UNKNOWN_ROW)
    words = (*base.words, *added)
    in_training = {0, UNKNOWN_ROW, *found.values(), *range(len(base.words) + 2, len(words) + 2)}
    generator = torch.Generator().manual_seed(seed)
    strangers = torch.rand(len(words) - len(covered), number.shape[1], generator=generator)
    matrix = lay_out(vectors.matrix, number, ((2 * strangers - 1) * half_range).numpy())
    rows = tuple(sorted(in_training))
    return WordTable(words, matrix, trainable, len(covered), rows, vectors.widths)


def lay_out(*parts: NDArray[np.float32]) -> Tensor:
    """Two rows of zeros, padding and the unknown word, then all rows; a large file is copied only once."""
    matrix = torch.zeros(2 + sum(map(len, parts)), parts[0].shape[1])
    end = 2
    for part in parts:
        matrix[end : end + len(part)] = torch.from_numpy(part)
        end += len(part)
    return matrix


def number_vector(vectors: WordVectors) -> NDArray[np.float32]:
    """One row for the number token, the mean of the file's numbers; none if it has a token, or no numbers."""
    numbers = [row for row, word in enumerate(vectors.words) if is_number(word)]
    if not numbers or NUMBER in vectors.words:
        return vectors.matrix[:0]
    mean: NDArray[np.float64] = vectors.matrix[numbers].mean(0, dtype=np.float64, keepdims=True)
    return mean.astype(np.float32)
