"""Accuracy: the fraction of correct answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from elmo_bench.metrics.ratios import percentage, sum_counts
from elmo_bench.types import Counts, Scores


def count_correct(gold: Sequence[str | int], predicted: Sequence[str | int]) -> Counts:
    """Counts of one example: one answer for a sentence's class, one per word for tags."""
    if len(gold) != len(predicted):
        raise ValueError(f"expected as many predictions as gold answers ({len(gold)}), got {len(predicted)}")
    right = sum(answer == wanted for answer, wanted in zip(predicted, gold, strict=True))
    return {"correct": right, "answers": len(gold)}


def score_accuracy(counts: Iterable[Counts]) -> Scores:
    """The percentage of correct answers."""
    total = sum_counts(counts)
    return {"accuracy": percentage(total.get("correct", 0), total.get("answers", 0))}
