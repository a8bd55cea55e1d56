"""F1 of word senses, where every target gets an answer: over all test sets, and for each."""

from __future__ import annotations

from collections.abc import Iterable

from elmo_bench.metrics.ratios import percentage, sum_counts
from elmo_bench.types import Counts, Scores


def score_senses(counts: Iterable[Counts]) -> Scores:
    """`f1`, and `f1:NAME` for each test set that has counts of its own."""
    total = sum_counts(counts)
    suffixes = [name.removeprefix("targets") for name in sorted(total) if name.startswith("targets")]
    return {
        f"f1{suffix}": percentage(total[f"correct{suffix}"], total[f"targets{suffix}"]) for suffix in suffixes
    }
