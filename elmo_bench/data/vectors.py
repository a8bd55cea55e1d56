"""Static word vectors: files, the initial table of a head's word embedding, and the look-up in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elmo_bench.data.lines import BYTE_ORDER_MARK, decode_line, fault, open_bytes, shown
from elmo_bench.files import make_once
from elmo_bench.hashing import hash_file_once, hash_value
from elmo_bench.types import Log, UsageError, Words

VECTORS_VERSION = 1
"""Increase it when the same file of vectors gives other words or values."""

WORDS_FILE, MATRIX_FILE = "words.txt", "matrix.npy"
NUMBER = "<number>"
UNKNOWN_ROW = 1
LINES_AT_ONCE = 8192
LARGEST = float(np.finfo(np.float32).max)
SMALL = 0.05  # half the range of the random rows that are added to vectors from a file

Match = Literal["exact", "lower_cased", "number", "training_only", "unknown"]
MATCHES: tuple[Match, ...] = ("exact", "lower_cased", "number", "training_only", "unknown")


@dataclass(frozen=True)
class WordVectors:
    """The content of a file of word vectors, in file order."""

    words: tuple[str, ...]
    matrix: NDArray[np.float32]  # (words, dim)
    widths: tuple[int, ...] = ()  # dimensions of the files that were joined; empty for a single file


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


def join_vectors(files: Sequence[WordVectors]) -> WordVectors:
    """Every word of all files with its vectors concatenated; zeros if a file does not contain it."""
    if len(files) == 1:
        return files[0]
    rows = {
        word: row for row, word in enumerate(dict.fromkeys(word for file in files for word in file.words))
    }
    widths = tuple(file.matrix.shape[1] for file in files)
    matrix = np.zeros((len(rows), sum(widths)), np.float32)
    for file, end in zip(files, accumulate(widths), strict=True):
        matrix[[rows[word] for word in file.words], end - file.matrix.shape[1] : end] = file.matrix
    return WordVectors(tuple(rows), matrix, widths)


def read_vectors(path: Path) -> WordVectors:
    """A text file `word v1 ... vn` as of GloVe or word2vec, plain or gzip; of repeated words the first."""
    words: list[str] = []
    blocks: list[NDArray[np.float32]] = []
    for found, block in stream_vectors(path):
        words += found
        blocks.append(block)
    return WordVectors(tuple(words), np.concatenate(blocks))


def stream_vectors(path: Path) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """The same, some thousand words at a time, for files that do not fit into memory."""
    words: set[str] = set()
    dim = 0
    for first, lines in _numbered_batches(path):
        dim = dim or _dimension(path, first, lines[0])
        found, block = _parse(path, first, lines, dim)
        fresh = {word: row for row, word in reversed(list(enumerate(found))) if word not in words}
        rows = sorted(fresh.values())
        words.update(fresh)
        yield [found[row] for row in rows], block[rows]
    if not words:
        raise fault(path, 1, "a word and its vector", "an empty file")


def read_dimension(path: Path) -> int:
    """The dimension of a file's vectors, from its first line."""
    for first, lines in _numbered_batches(path):
        return _dimension(path, first, lines[0])
    raise fault(path, 1, "a word and its vector", "an empty file")


def read_vectors_once(path: Path, cache: Path, log: Log) -> WordVectors:
    """The content of a file of vectors; parsed once, then read from a copy that loads fast.

    The copy is named by the content of the file. It is verified by its checksums and made again if damaged.
    """
    name = hash_value([hash_file_once(path), VECTORS_VERSION])[:16]

    def write(directory: Path) -> None:
        vectors = read_vectors(path)
        (directory / WORDS_FILE).write_text("\n".join(vectors.words), encoding="utf-8", newline="\n")
        np.save(directory / MATRIX_FILE, vectors.matrix, allow_pickle=False)

    copy = make_once(cache / name, write, log)
    with (copy / WORDS_FILE).open(encoding="utf-8", newline="\n") as file:
        words = tuple(file.read().split("\n"))
    return WordVectors(words, np.load(copy / MATRIX_FILE, allow_pickle=False))


def _numbered_batches(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    with open_bytes(path) as file:
        stripped = (line.rstrip(b" \r\n") for line in file)
        first = next(stripped, None)
        if first is None:
            return
        first = first.removeprefix(BYTE_ORDER_MARK)
        number, lines = (2, []) if _is_header(first) else (1, [first])
        while lines := lines + list(islice(stripped, LINES_AT_ONCE)):
            yield number, lines
            number += len(lines)
            lines = []


def _is_header(line: bytes) -> bool:
    # word2vec's text format opens with the number of words and the dimension
    fields = line.split(b" ")
    return len(fields) == 2 and all(field.isdigit() for field in fields)


def _dimension(path: Path, number: int, line: bytes) -> int:
    dim = line.count(b" ")
    if not dim:
        raise fault(path, number, "a word and its vector, separated by single blanks", _shown(line))
    return dim


def _parse(path: Path, first: int, lines: Sequence[bytes], dim: int) -> tuple[list[str], NDArray[np.float32]]:
    """Words and vectors of consecutive lines; with a slow path for irregular lines."""
    parts = [line.partition(b" ") for line in lines]
    try:
        words = [decode_line(path, number, word) for number, (word, _, _) in enumerate(parts, start=first)]
        block = np.loadtxt(
            [numbers.decode("ascii") for _, _, numbers in parts],
            dtype=np.float32, comments=None, delimiter=" ", ndmin=2,
        )  # fmt: skip
        if all(words) and block.shape == (len(lines), dim) and np.isfinite(block).all():
            return words, block
    except ValueError:  # some line is not a word and `dim` numbers: find it, or its word contains blanks
        pass
    rows = [_parse_line(path, number, line, dim) for number, line in enumerate(lines, start=first)]
    return [word for word, _ in rows], np.array([vector for _, vector in rows], dtype=np.float32)


def _parse_line(path: Path, number: int, line: bytes, dim: int) -> tuple[str, list[float]]:
    word, *numbers = line.rsplit(b" ", dim)
    try:
        vector = [float(text) for text in numbers]
    except ValueError:
        vector = []
    if not word or len(vector) != dim or not all(abs(value) <= LARGEST for value in vector):
        raise fault(path, number, f"a word and {dim} finite numbers between single blanks", _shown(line))
    return decode_line(path, number, word), vector


def _shown(line: bytes) -> str:
    return shown(line.decode("utf-8", errors="replace"))
