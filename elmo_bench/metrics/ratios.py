"""Helpers of all metrics: sums of count rows, percentages and the harmonic mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from elmo_bench.types import Counts


def sum_counts(counts: Iterable[Counts]) -> Counts:
    """One row with the sum of every column."""
    total: defaultdict[str, float] = defaultdict(float)
    for row in counts:
        for name, number in row.items():
            total[name] += number
    return dict(total)


def percentage(part: float, whole: float) -> float:
    """Part of whole in percent; 0 of 0 is 0, as in all official scorers used by the tasks."""
    return 100 * part / whole if whole else 0.0


def harmonic_mean(precision: float, recall: float) -> float:
    """F1 of precision and recall."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
