"""Correct, predicted and gold items with labels: counts in total and per label, and scores of their sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from elmo_bench.metrics.ratios import harmonic_mean, percentage
from elmo_bench.types import Counts, Scores

NAMES = ("tp", "predicted", "gold")
LABEL = ":"  # names: `tp:PER` for a count of one label, `f1:PER` for a score


def count_matches(
    correct: Iterable[str],
    predicted: Iterable[str],
    gold: Iterable[str],
    excluded: frozenset[str] = frozenset(),
) -> Counts:
    """Counts of correct, predicted and gold labels; an excluded label is not in the totals."""
    counts: Counts = {}
    by_label: Counts = {}
    for name, labels in zip(NAMES, (correct, predicted, gold), strict=True):
        numbers = Counter(labels)
        counts[name] = sum(number for label, number in numbers.items() if label not in excluded)
        by_label |= {f"{name}{LABEL}{label}": number for label, number in numbers.items()}
    return counts | by_label


def labels_of(counts: Counts) -> list[str]:
    """The gold and predicted labels, in alphabetical order."""
    named = (name.partition(LABEL) for name in counts)
    return sorted({label for name, _, label in named if label and name in NAMES})


def score_matches(total: Counts) -> Scores:
    """Precision, recall and F1 in total and per label, from summed counts."""
    scores = _score(total, "")
    for label in labels_of(total):
        scores |= _score(total, f"{LABEL}{label}")
    return scores


def _score(total: Counts, suffix: str) -> Scores:
    correct, predicted, gold = (total.get(name + suffix, 0) for name in NAMES)
    precision, recall = percentage(correct, predicted), percentage(correct, gold)
    return {
        f"precision{suffix}": precision,
        f"recall{suffix}": recall,
        f"f1{suffix}": harmonic_mean(precision, recall),
    }
