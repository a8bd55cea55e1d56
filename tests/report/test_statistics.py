"""The statistics against plain loops and scipy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb
from statistics import mean, median

import numpy as np
import pytest
from scipy import stats

from elmo_bench.metrics.accuracy import score_accuracy
from elmo_bench.metrics.matches import score_matches
from elmo_bench.metrics.ratios import sum_counts
from elmo_bench.records import CountTable, tabulate
from elmo_bench.report import statistics
from elmo_bench.report.statistics import (
    combine,
    compare_answers,
    draw_weights,
    error_reduction,
    flip_signs,
    keep_needed,
    paired_bootstrap,
    paired_gain,
    resample_scores,
    right_answers,
    spread,
)
from elmo_bench.types import Counts, Scores

DIFFERENCES = [(1.0, 2.0, 3.0), (-1.0, 2.5, 0.5, 0.0), (0.1, 0.1), (-3.0, 3.0), (5.0,) * 12]


def score_f1(counts: Sequence[Counts]) -> Scores:
    return score_matches(sum_counts(counts))


def table_of(rows: Sequence[Counts]) -> CountTable:
    return tabulate({"test": rows})["test"]


@pytest.mark.parametrize("differences", DIFFERENCES)
def test_sign_flip_tries_every_sign(differences: tuple[float, ...]) -> None:
    observed = abs(mean(differences))
    means = [
        abs(mean(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(found >= observed - 1e-12 for found in means) / len(means)
    assert flip_signs(differences) == pytest.approx(expected, abs=1e-12)


def test_sign_flip_of_many_seeds_is_close_to_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = [0.3, -0.1, 0.4, 0.2, 0.5, -0.2, 0.1, 0.3, 0.2, 0.1]
    exact = flip_signs(differences)
    assert exact is not None
    monkeypatch.setattr(statistics, "RESAMPLES", 1000)  # of 1,024 signs
    drawn = flip_signs(differences)
    assert drawn is not None
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=4 * (exact * (1 - exact) / statistics.RESAMPLES) ** 0.5)


def test_one_seed_has_neither_interval_nor_test() -> None:
    assert paired_gain([1.0]) is None
    assert flip_signs([1.0]) is None
    assert spread([4.0]).deviation is None


def test_interval_over_seeds_is_scipys() -> None:
    first, second = np.array([44.8, 45.5, 41.2, 46.6]), np.array([58.2, 54.8, 58.1, 54.3])
    found = paired_gain(list(second - first))
    assert found is not None
    low, high = stats.ttest_rel(second, first).confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert spread([1.0, 2.0, 4.0]).deviation == pytest.approx(np.std([1, 2, 4], ddof=1))


@pytest.mark.parametrize("b", range(7))
@pytest.mark.parametrize("c", range(7))
def test_mcnemar_is_the_binomial_test_of_discordant_pairs(b: int, c: int) -> None:
    first = [True] * b + [False] * c + [True, False]
    second = [False] * b + [True] * c + [True, False]
    found = compare_answers(first, second)
    assert (found.only_first, found.only_second) == (b, c)
    tail = sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
    assert found.p == pytest.approx(min(1.0, 2 * tail))
    if b + c:
        assert found.p == pytest.approx(stats.binomtest(b, b + c, 0.5).pvalue)


def test_several_p_values_become_twice_their_median() -> None:
    assert combine([0.03]) == 0.03
    assert combine([0.01, 0.04, 0.5]) == pytest.approx(0.08)
    assert combine([0.9, 0.8]) == 1.0
    assert combine([0.1, 0.2, 0.3, 0.4]) == 2 * median([0.1, 0.2, 0.3, 0.4])


def test_resampled_scores_are_those_of_drawn_examples() -> None:
    counts = [
        {"tp": 1.0, "predicted": 2.0, "gold": 1.0, "tp:PER": 1.0, "predicted:PER": 1.0},
        {"tp": 0.0, "predicted": 1.0, "gold": 2.0, "gold:LOC": 2.0},
        {"tp": 3.0, "predicted": 3.0, "gold": 4.0, "tp:PER": 3.0, "predicted:LOC": 2.0},
    ]
    found = resample_scores(table_of(counts), score_f1, "f1", 200)
    (weights,) = draw_weights(3, 200)
    assert (weights.sum(axis=1) == 3).all()
    for score, row in zip(found, weights, strict=True):
        drawn = [one for one, times in zip(counts, row, strict=True) for _ in range(int(times))]
        assert score == score_f1(drawn)["f1"]


def test_parts_are_left_out_only_where_the_score_does_not_need_them() -> None:
    whole = table_of([{"correct": 1.0, "answers": 2.0, "correct:a": 1.0}])
    assert keep_needed(whole, score_accuracy, "accuracy").columns == ("answers", "correct")

    def score_part(counts: Sequence[Counts]) -> Scores:
        return {"part": sum_counts(counts).get("correct:a", 0.0)}

    assert "correct:a" in keep_needed(whole, score_part, "part").columns


def test_drawn_sets_depend_on_the_number_of_examples_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = draw_weights(7, 50)
    monkeypatch.setattr(statistics, "KEPT", 0)
    monkeypatch.setattr(statistics, "CELLS", 70)
    blocks = list(draw_weights(7, 50))
    assert [len(block) for block in blocks] == [10] * 5
    np.testing.assert_array_equal(first, np.concatenate(blocks))


def test_drawn_sets_are_kept_for_the_next_run_unless_they_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert draw_weights(9, 40) is draw_weights(9, 40)
    monkeypatch.setattr(statistics, "KEPT", 9 * 40 - 1)
    counts = table_of([{"correct": float(number % 2), "answers": 1.0} for number in range(9)])
    drawn = resample_scores(counts, score_accuracy, "accuracy", 40)
    monkeypatch.setattr(statistics, "KEPT", 9 * 40)
    np.testing.assert_array_equal(drawn, resample_scores(counts, score_accuracy, "accuracy", 40))


def test_scores_are_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = table_of([{"correct": float(number % 2), "answers": 1.0} for number in range(7)])
    first = resample_scores(counts, score_accuracy, "accuracy", 50)
    monkeypatch.setattr(statistics, "CELLS_IN_CACHE", 21)  # in blocks of three
    np.testing.assert_array_equal(first, resample_scores(counts, score_accuracy, "accuracy", 50))


def test_bootstrap_of_every_possible_draw_has_its_exact_p() -> None:
    gains = np.array([a + b for a, b in product((-1.0, 1.0, 3.0), repeat=2)]) / 2
    found = paired_bootstrap([np.zeros(9)], [gains], observed=1.0)
    # moved to no gain: -2 -1 0 -1 0 1 0 1 2, of which six lie at least 1 from 0
    assert found.p == pytest.approx((1 + 6) / 10)
    assert (found.low, found.high) == tuple(np.quantile(gains, (0.025, 0.975)))


def test_bootstrap_pairs_seed_with_seed() -> None:
    first, second = [np.array([1.0, 5.0]), np.array([2.0, 0.0])], [np.array([2.0, 6.0]), np.array([3.0, 1.0])]
    found = paired_bootstrap(first, second, observed=1.0)
    assert (found.low, found.high) == (1.0, 1.0)


def test_answers_are_right_or_wrong_only_where_the_score_is_their_share() -> None:
    single = [{"correct": 1.0, "answers": 1.0}, {"correct": 0.0, "answers": 1.0}]
    assert right_answers(table_of(single), score_accuracy, "accuracy") == [True, False]
    several = [{"correct": 2.0, "answers": 2.0}, {"correct": 0.0, "answers": 1.0}]
    assert right_answers(table_of(several), score_accuracy, "accuracy") is None
    partly = [{"correct": 1.0, "answers": 2.0}]
    assert right_answers(table_of(partly), score_accuracy, "accuracy") is None


def test_error_reduction_is_the_papers() -> None:
    assert error_reduction(81.1, 4.7) == pytest.approx(24.9, abs=0.05)  # SQuAD in Table 1
    assert error_reduction(88.0, 0.7) == pytest.approx(5.8, abs=0.05)  # SNLI
    assert error_reduction(100.0, 0.0) is None
