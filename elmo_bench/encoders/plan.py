"""Assign a file's sentences to batches and shards; the result depends only on their set."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from elmo_bench.types import Words

BATCH_TOKENS = 16_384  # enough to keep an encoder's lanes full; an encoder may split it further


@dataclass(frozen=True)
class Shard:
    """Batches that are encoded, written and verified together."""

    batches: tuple[range, ...]  # indices into Plan.sequences
    tokens: int


@dataclass(frozen=True)
class Plan:
    """Distinct sequences, shortest first, cut into batches and shards.

    The vectors of a sentence may differ in their last bits depending on the other sentences of its batch.
    The batches are therefore fixed: the same sentences give the same bytes, no matter how a store is
    filled and how often that is interrupted.
    """

    sequences: tuple[Words, ...]
    shards: tuple[Shard, ...]
    digest: str
    tokens: int

    @classmethod
    def make(cls, sequences: Iterable[Words], shard_tokens: int) -> Plan:
        """The plan for a set of sequences; order, repetitions and empty sequences do not matter."""
        distinct = tuple(
            sorted({words for words in sequences if words}, key=lambda words: (len(words), words))
        )
        digest = hashlib.sha256()
        for words in distinct:
            digest.update(json.dumps(words).encode())
        shards, batches, tokens = [], [], 0
        for batch in _batches(distinct):
            batches.append(batch)
            tokens += sum(len(distinct[number]) for number in batch)
            if tokens >= shard_tokens:
                shards.append(Shard(tuple(batches), tokens))
                batches, tokens = [], 0
        if batches:
            shards.append(Shard(tuple(batches), tokens))
        total = sum(shard.tokens for shard in shards)
        return cls(distinct, tuple(shards), digest.hexdigest(), total)

    def batch_of(self, position: int) -> range:
        """The batch in which one sequence is encoded."""
        shard = self.shards[bisect_right(self.shards, position, key=lambda s: s.batches[0].start) - 1]
        return shard.batches[bisect_right(shard.batches, position, key=lambda batch: batch.start) - 1]


def _batches(sequences: tuple[Words, ...]) -> Iterable[range]:
    start, tokens = 0, 0
    for position, words in enumerate(sequences):
        if tokens and tokens + len(words) > BATCH_TOKENS:
            yield range(start, position)
            start, tokens = position, 0
        tokens += len(words)
    if tokens:
        yield range(start, len(sequences))
