"""Answers to questions: exact match and F1 by SQuAD's evaluation script v1.1."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence

from elmo_bench.metrics.ratios import harmonic_mean, percentage, sum_counts
from elmo_bench.types import Counts, Scores

ARTICLES = re.compile(r"\b(a|an|the)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """Lower-cased, without ASCII punctuation and articles, with single blanks: in this order."""
    bare = text.lower().translate(WITHOUT_PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", bare).split())


def count_answer(gold: Sequence[str], predicted: str | None) -> Counts:
    """The best exact match and the best F1 over the gold answers; None means no answer and scores 0."""
    if predicted is None:
        return {"exact_match": 0, "f1": 0, "questions": 1, "answered": 0}
    answer = normalise_answer(predicted)
    wanted = [normalise_answer(text) for text in gold]
    return {
        "exact_match": max(float(answer == text) for text in wanted),
        "f1": max(_overlap(answer.split(), text.split()) for text in wanted),
        "questions": 1,
        "answered": 1,
    }


def _overlap(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """F1 of two bags of words; 0 without a common word, even if both are empty."""
    common = sum((Counter(predicted) & Counter(gold)).values())
    return harmonic_mean(common / len(predicted), common / len(gold)) if common else 0.0


def score_answers(counts: Iterable[Counts]) -> Scores:
    """Exact match and F1 over all questions, answered or not."""
    total = sum_counts(counts)
    questions = total.get("questions", 0)
    return {name: percentage(total.get(name, 0), questions) for name in ("exact_match", "f1")}
