"""Nearest neighbours by cosine: occurrences of words in their sentences, and static word vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from elmo_bench.data.vectors import WordVectors
from elmo_bench.encoders.protocol import Encoder
from elmo_bench.types import Words

Floats = NDArray[np.float32]
Candidates = Literal["any", "same", "other"]

BLOCK_TOKENS = 16_384  # encoded at once; all that is in memory of a corpus


@dataclass(frozen=True)
class Occurrence:
    """One token of one sentence."""

    words: Words
    position: int

    @property
    def word(self) -> str:
        return self.words[self.position]


@dataclass
class Neighbourhood:
    """The nearest occurrences to one that are known so far; of equal sentences only the nearest."""

    query: Occurrence
    count: int
    found: dict[Words, tuple[float, int]] = field(default_factory=dict)  # cosine and position by sentence

    @property
    def threshold(self) -> float:
        """What a newcomer has to exceed."""
        if len(self.found) < self.count:
            return -np.inf
        return min(near for near, _ in self.found.values())

    def offer(self, words: Words, position: int, near: float) -> None:
        """Take an occurrence in if it is among the nearest."""
        if words == self.query.words or near <= self.found.get(words, (self.threshold, 0))[0]:
            return
        if words not in self.found and len(self.found) == self.count:
            del self.found[min(self.found, key=lambda sentence: self.found[sentence][0])]
        self.found[words] = near, position

    def nearest(self) -> list[tuple[Occurrence, float]]:
        """The nearest first."""
        ranked = sorted(self.found.items(), key=lambda item: -item[1][0])
        return [(Occurrence(words, position), near) for words, (near, position) in ranked]


def find_occurrences(sentences: Iterable[Words], word: str, count: int) -> tuple[list[Occurrence], int, int]:
    """The first occurrences of a word in different sentences, how many there are in all, and all tokens."""
    found: dict[Words, Occurrence] = {}
    total = tokens = 0
    for words in sentences:
        tokens += len(words)
        positions = [position for position, other in enumerate(words) if other == word]
        total += len(positions)
        if positions and len(found) < count and words not in found:
            found[words] = Occurrence(words, positions[0])
    return list(found.values()), total, tokens


def find_neighbours(
    encoder: Encoder,
    sentences: Iterable[Words],
    queries: Sequence[Occurrence],
    layer: int,
    count: int,
    candidates: Candidates = "any",
) -> Iterator[tuple[int, list[Neighbourhood]]]:
    """Go through a corpus block by block: how many tokens a block has, and what is nearest so far.

    An occurrence in the query's own sentence, or in a copy of it, is no neighbour.
    """
    around = [Neighbourhood(query, count) for query in queries]
    own = np.concatenate(
        [
            normalise_rows(layers[layer, query.position][None])
            for query, layers in zip(queries, encoder.layers([query.words for query in queries]), strict=True)
        ]
    )  # (queries, dim)
    for block in blocks(sentences):
        vectors = np.concatenate([layers[layer] for layers in encoder.layers(block)])  # (tokens, dim)
        cosines = own @ normalise_rows(vectors).T  # (queries, tokens)
        places = [(words, position) for words in block for position in range(len(words))]
        for neighbourhood, row in zip(around, cosines, strict=True):
            for token in np.argsort(-row, kind="stable"):
                if row[token] <= neighbourhood.threshold:
                    break
                words, position = places[token]
                is_same = words[position].lower() == neighbourhood.query.word.lower()
                if candidates == "any" or is_same == (candidates == "same"):
                    neighbourhood.offer(words, position, float(row[token]))
        yield len(places), around


def find_similar_words(vectors: WordVectors, word: str, count: int) -> list[tuple[str, float]]:
    """The words whose static vectors are nearest to a word's own; none where the file lacks the word."""
    rows = {other: row for row, other in enumerate(vectors.words)}
    row = rows.get(word, rows.get(word.lower()))
    if row is None:
        return []
    cosines = normalise_rows(vectors.matrix) @ normalise_rows(vectors.matrix[row][None])[0]  # (words,)
    ranked = np.argsort(-cosines, kind="stable")[: count + 1]
    return [(vectors.words[other], float(cosines[other])) for other in ranked if other != row][:count]


def normalise_rows(matrix: Floats) -> Floats:
    """Rows of length 1; a row of zeros stays one and is near nothing."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    normal: Floats = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return normal


def blocks(sentences: Iterable[Words]) -> Iterator[list[Words]]:
    """Sentences in lots of some thousand tokens."""
    block: list[Words] = []
    tokens = 0
    for words in sentences:
        block.append(words)
        tokens += len(words)
        if tokens >= BLOCK_TOKENS:
            yield block
            block, tokens = [], 0
    if block:
        yield block
