"""Named entities: a chunk is correct if its type and both boundaries agree (conlleval, 2004-01-26)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from elmo_bench.data.tags import Chunk, chunks_of
from elmo_bench.metrics.matches import count_matches, score_matches
from elmo_bench.metrics.ratios import percentage, sum_counts
from elmo_bench.types import Counts, Scores


def count_entities(gold: Sequence[str], predicted: Sequence[str]) -> Counts:
    """Chunks and tokens of one sentence, from two tag sequences of any scheme, legal or not."""
    if len(gold) != len(predicted):
        raise ValueError(f"expected as many predicted tags as gold ones ({len(gold)}), got {len(predicted)}")
    gold_chunks, predicted_chunks = chunks_of(gold), chunks_of(predicted)
    correct = set(gold_chunks) & set(predicted_chunks)
    right, found, wanted = (_labels(chunks) for chunks in (correct, predicted_chunks, gold_chunks))
    tokens = {"tokens": len(gold), "correct_tokens": sum(map(str.__eq__, gold, predicted))}
    return count_matches(right, found, wanted) | tokens


def _labels(chunks: Iterable[Chunk]) -> list[str]:
    return [chunk.label for chunk in chunks]


def score_entities(counts: Iterable[Counts]) -> Scores:
    """Precision, recall and F1 over all chunks and per type, and the accuracy of tokens."""
    total = sum_counts(counts)
    accuracy = percentage(total.get("correct_tokens", 0), total.get("tokens", 0))
    return score_matches(total) | {"accuracy": accuracy}
