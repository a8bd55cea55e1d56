"""Files of static word vectors, as of GloVe or word2vec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from elmo_bench.data.lines import BYTE_ORDER_MARK, decode_line, fault, open_bytes, shown
from elmo_bench.files import make_once
from elmo_bench.hashing import hash_file_once, hash_value
from elmo_bench.types import Log

VECTORS_VERSION = 1
"""Increase it when the same file of vectors gives other words or values."""

WORDS_FILE, MATRIX_FILE = "words.txt", "matrix.npy"
LINES_AT_ONCE = 8192
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class WordVectors:
    """The content of a file of word vectors, in file order."""

    words: tuple[str, ...]
    matrix: NDArray[np.float32]  # (words, dim)
    widths: tuple[int, ...] = ()  # dimensions of the files that were joined; empty for a single file


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
