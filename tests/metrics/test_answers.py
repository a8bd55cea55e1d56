"""SQuAD's v1.1 rule at its corners, and accuracy."""

from __future__ import annotations

import pytest

from elmo_bench.metrics.accuracy import count_correct, score_accuracy
from elmo_bench.metrics.answers import count_answer, normalise_answer, score_answers


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("The  Cat, a dog\u00a0and AN owl!", "cat dog and owl"),
        ("a-b", "ab"),  # punctuation goes without a blank in its place
        ("x.the.y", "xthey"),  # and before articles do
        ("another theme", "another theme"),
        ("“quoted” — €5", "“quoted” — €5"),  # only ASCII punctuation goes
        ("the", ""),
        ("A.", ""),
    ],
)
def test_normalisation(text: str, normalised: str) -> None:
    assert normalise_answer(text) == normalised


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "f1"),
    [
        (["the cat"], "Cat.", 1, 1),
        (["cat dog"], "cat", 0, 2 / 3),
        (["cat cat dog"], "cat cat", 0, 0.8),  # bags, not sets
        (["dog", "cat dog owl"], "cat owl", 0, 0.8),  # the best of each, apart
        (["the"], "a", 1, 0),  # both empty: equal, but no common word
        (["cat"], "", 0, 0),
        (["cat"], None, 0, 0),
    ],
)
def test_one_answer(gold: list[str], predicted: str | None, exact: float, f1: float) -> None:
    counts = count_answer(gold, predicted)
    assert (counts["exact_match"], counts["f1"]) == (exact, pytest.approx(f1))
    assert (counts["questions"], counts["answered"]) == (1, predicted is not None)


def test_unanswered_questions_count_as_wrong() -> None:
    rows = [count_answer(["cat"], "cat"), count_answer(["cat"], None)]
    assert score_answers(rows) == {"exact_match": 50, "f1": 50}


def test_accuracy_is_over_answers_not_examples() -> None:
    rows = [count_correct("NVD", "NVN"), count_correct([4], [4]), count_correct([], [])]
    assert score_accuracy(rows) == {"accuracy": 75}
    assert score_accuracy([]) == {"accuracy": 0}
    with pytest.raises(ValueError, match="as many predictions"):
        count_correct([1], [])
