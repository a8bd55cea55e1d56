"""Word vectors of a large file: converted once, then read from the disk word by word.

GloVe 840B is a text of 5.6 GB. Reading it takes minutes and its vectors take 2.6 GB of memory; mapped, they
are there at once, and several processes share them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from elmo_bench.data.vectors import VECTORS_VERSION, stream_vectors
from elmo_bench.files import make_once
from elmo_bench.hashing import hash_file_once, hash_value
from elmo_bench.types import Log, Words

WORDS_FILE = "words.txt"
VECTORS_FILE = "vectors.f32"


@dataclass(frozen=True)
class MappedVectors:
    """The vectors of a file, looked up exactly as the words are written."""

    rows: dict[str, int]
    matrix: NDArray[np.float32]  # (words, dim), on the disk

    def look_up(self, words: Words) -> NDArray[np.float32]:
        """(time, dim); zeros for a word that the file lacks."""
        found = {place: self.rows[word] for place, word in enumerate(words) if word in self.rows}
        vectors = np.zeros((len(words), self.matrix.shape[1]), np.float32)
        vectors[list(found)] = self.matrix[list(found.values())]
        return vectors


def map_vectors(path: Path, cache: Path, log: Log) -> MappedVectors:
    """The vectors of a text file as of GloVe; they are converted below `cache` when first used."""
    key = hash_value([hash_file_once(path), VECTORS_VERSION])
    target = cache / "vectors" / f"{path.name}-{key[:12]}"

    def convert(directory: Path) -> None:
        log(f"{path.name}: converting the vectors once, to {target}")
        with (directory / WORDS_FILE).open("wb") as words, (directory / VECTORS_FILE).open("wb") as vectors:
            for found, block in stream_vectors(path):
                words.write("".join(f"{word}\n" for word in found).encode())
                vectors.write(block.astype("<f4").data)

    made = make_once(target, convert, log)
    words = (made / WORDS_FILE).read_bytes().decode().split("\n")[:-1]
    matrix = np.memmap(made / VECTORS_FILE, np.dtype("<f4"), "r").reshape(len(words), -1)
    return MappedVectors({word: row for row, word in enumerate(words)}, matrix)
