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
        """The token itself."""
        return self.words[self.position]


@dataclass
class Standing:
    """At which rank an occurrence stands among the neighbours of another; each sentence counts once."""

    occurrence: Occurrence
    near: float
    candidates: Candidates
    nearer: int = 0  # sentences with a candidate that is nearer
    total: int = 0  # sentences with a candidate

    def look_at(self, nearest: Iterable[tuple[Words, float]]) -> None:
        """Count sentences, each with the cosine of its nearest candidate."""
        for words, near in nearest:
            self.total += 1
            self.nearer += near > self.near and words != self.occurrence.words

    @property
    def rank(self) -> int:
        """The rank, from 1."""
        return self.nearer + 1


@dataclass
class Neighbourhood:
    """The nearest occurrences to one that are known so far; of equal sentences only the nearest."""

    query: Occurrence
    count: int
    standings: list[Standing] = field(default_factory=list)
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
    ranked: Sequence[Occurrence | None] = (),
) -> Iterator[tuple[int, list[Neighbourhood]]]:
    """Go through a corpus block by block: how many tokens a block has, and what is nearest so far.

    An occurrence in the query's own sentence, or in a copy of it, is no neighbour. `ranked` has for each
    query the occurrence whose rank is printed: among all candidates, and among those of the query's word.
    """
    own = encode_occurrences(encoder, queries, layer)  # (queries, dim)
    around = [Neighbourhood(query, count) for query in queries]
    for neighbourhood, vector, other in zip(around, own, ranked, strict=False):
        if other:
            near = float(encode_occurrences(encoder, [other], layer)[0] @ vector)
            kinds = dict.fromkeys((candidates, "same"))
            neighbourhood.standings = [Standing(other, near, kind) for kind in kinds]
    for block in blocks(sentences):
        vectors = np.concatenate([layers[layer] for layers in encoder.layers(block)])  # (tokens, dim)
        cosines = own @ normalise_rows(vectors).T  # (queries, tokens)
        places = [(words, position) for words in block for position in range(len(words))]
        for neighbourhood, row in zip(around, cosines, strict=True):
            for token in np.argsort(-row, kind="stable"):
                if row[token] <= neighbourhood.threshold:
                    break
                words, position = places[token]
                if is_candidate(words[position], neighbourhood.query.word, candidates):
                    neighbourhood.offer(words, position, float(row[token]))
            for standing in neighbourhood.standings:
                standing.look_at(nearest_candidates(block, row, neighbourhood.query, standing.candidates))
        yield len(places), around


def encode_occurrences(encoder: Encoder, occurrences: Sequence[Occurrence], layer: int) -> Floats:
    """The vectors of some occurrences in their sentences, of length 1."""
    encoded = encoder.layers([one.words for one in occurrences])
    rows = [layers[layer, one.position] for one, layers in zip(occurrences, encoded, strict=True)]
    return normalise_rows(np.stack(rows))  # (occurrences, dim)


def is_candidate(word: str, asked: str, candidates: Candidates) -> bool:
    """Whether a word may be a neighbour of the word that was asked about."""
    return candidates == "any" or (word.lower() == asked.lower()) == (candidates == "same")


def nearest_candidates(
    block: Sequence[Words], row: Floats, query: Occurrence, candidates: Candidates
) -> Iterator[tuple[Words, float]]:
    """The cosine of the nearest candidate of every sentence that has one, but for the query's own."""
    start = 0
    for words in block:
        near = row[start : start + len(words)]
        start += len(words)
        fits = [is_candidate(word, query.word, candidates) for word in words]
        if words != query.words and any(fits):
            yield words, float(near[fits].max())


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
