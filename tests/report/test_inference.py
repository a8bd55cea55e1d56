"""The two-level bootstrap: what it draws, what its interval covers, and what its p is worth."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from scipy import stats

from elmo_bench.report.inference import (
    Estimate,
    adjust_holm,
    draw_seeds,
    example_bootstrap,
    student,
    two_level_bootstrap,
)
from elmo_bench.report.statistics import draw_weights

NOTHING = np.zeros(4)


def bootstrap_of(scores: np.ndarray, weights: np.ndarray) -> Estimate:
    """The estimate of a gain from one row of gains by example for each seed."""
    drawn = scores @ weights.T / scores.shape[1]
    empty = [np.zeros(len(weights))] * len(scores)
    return two_level_bootstrap(empty, list(drawn), list(scores.mean(axis=1)))


def test_seeds_are_drawn_with_replacement_the_same_for_every_comparison() -> None:
    shares = draw_seeds(5, 4000)
    np.testing.assert_array_equal(shares, draw_seeds(5, 4000))
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares.max(axis=1) > 0.2).mean() == pytest.approx(1 - 120 / 5**5, abs=0.02)  # some seed twice
    np.testing.assert_allclose(shares.mean(axis=0), 0.2, atol=0.01)


def test_all_seeds_and_both_systems_meet_the_same_examples() -> None:
    # The gain of each resample is the same for every seed, so no spread is left within a resample.
    drawn = np.random.default_rng(0).normal(size=2000)
    first = [np.full(2000, float(seed)) for seed in range(4)]
    found = two_level_bootstrap(first, [drawn + a for a in first], [0.0] * 4)
    assert found.draws is not None
    np.testing.assert_allclose(found.draws, drawn)
    assert found.freedom == inf
    assert found.interval() == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))))


def test_seeds_alone_make_an_interval_as_wide_as_students() -> None:
    differences = [1.0, 2.5, 0.5, 3.0, 2.0, 1.5, 2.2, 0.9, 1.7, 2.6]
    arrays = [np.full(20_000, one) for one in differences]
    found = two_level_bootstrap([np.zeros(20_000)] * 10, arrays, differences)
    assert (found.basis, found.count, found.freedom) == ("seeds and examples", 10, pytest.approx(9))
    expected = stats.ttest_1samp(differences, 0.0)
    assert found.error == pytest.approx(stats.sem(differences))
    interval = expected.confidence_interval(0.95)
    assert found.interval() == (pytest.approx(interval.low, abs=0.1), pytest.approx(interval.high, abs=0.1))


@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_have_an_interval_over_examples_that_is_called_so(seeds: int) -> None:
    drawn = np.random.default_rng(0).normal(1, 1, size=(seeds, 500))
    found = two_level_bootstrap([np.zeros(500)] * seeds, list(drawn), [1.0] * seeds)
    assert (found.basis, found.count) == ("examples", seeds)
    assert found.interval() == pytest.approx(tuple(np.quantile(drawn.mean(axis=0), (0.025, 0.975))))


# The truth is no gain. Seeds and examples have the standard deviations that are given, both of the mean over
# the whole test set; the last is of chance in each pair of them. Plain percentiles cover 75 % of the first.
SITUATIONS = [(1.0, 0.05, 0.05), (1.0, 1.0, 0.0), (0.3, 1.0, 0.3), (1.0, 0.5, 0.5)]


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("spreads", SITUATIONS)
def test_the_interval_covers_about_as_often_as_it_says(
    seeds: int, spreads: tuple[float, float, float]
) -> None:
    examples, trials = 60, 400
    random = np.random.default_rng(11)
    weights = np.concatenate(list(draw_weights(examples, 1000)))
    by_seed, by_example, by_both = spreads
    covered = rejected = 0
    for _ in range(trials):
        scores = random.normal(0, by_seed, (seeds, 1)) + examples**0.5 * (
            random.normal(0, by_example, (1, examples)) + random.normal(0, by_both, (seeds, examples))
        )
        found = bootstrap_of(scores, weights)
        low, high = found.interval()
        covered += low <= 0 <= high
        rejected += found.p() < 0.01
    assert 0.915 <= covered / trials <= 0.99
    assert rejected / trials <= 0.035


def test_p_is_below_five_percent_only_where_the_interval_excludes_zero() -> None:
    random = np.random.default_rng(2)
    weights = np.concatenate(list(draw_weights(50, 800)))
    agree = 0
    for _ in range(200):
        found = bootstrap_of(random.normal(0.25, 1.0, (4, 50)), weights)
        low, high = found.interval()
        excluded = low > 0 or high < 0
        assert not found.p() < 0.05 or excluded
        agree += (found.p() < 0.05) == excluded
    assert agree >= 185


def test_p_counts_one_more_than_was_drawn_and_has_both_sides() -> None:
    draws = np.array([-1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    found = Estimate(4.0, 1.0, inf, "examples", 1, draws)
    assert found.p() == pytest.approx(2 * 2 / 10)
    assert found.p(9.0) == pytest.approx(2 * 1 / 10)
    assert found.one_sided(0.0, above=True) == pytest.approx(2 / 10)
    # Student's share is larger than 9/10
    assert found.one_sided(0.0, above=False) == pytest.approx(1.0, abs=1e-3)
    wide = Estimate(4.0, 4.0, inf, "examples", 1, np.full(99, 4.0))
    assert wide.p() == pytest.approx(2 * stats.norm.sf(1))


def test_systems_that_never_differ_have_no_gain_and_p_one() -> None:
    found = two_level_bootstrap([NOTHING] * 3, [NOTHING] * 3, [0.0] * 3)
    assert (found.interval(), found.p()) == ((0.0, 0.0), 1.0)


def test_one_pass_systems_are_tested_over_examples_however_many_seeds_they_have() -> None:
    drawn = np.random.default_rng(0).normal(1, 1, 500)
    found = example_bootstrap([np.zeros(500)] * 3, [drawn] * 3, [1.0] * 3)
    assert (found.basis, found.freedom, found.count) == ("examples", inf, 3)
    assert found.interval() == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))))


def test_student_over_seeds_is_scipys() -> None:
    values = [1.0, 2.0, 4.0]
    found = student(values)
    assert found is not None
    expected = stats.ttest_1samp(values, 0.0)
    assert found.p() == pytest.approx(expected.pvalue)
    assert found.interval() == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.interval(0.9) == pytest.approx(tuple(expected.confidence_interval(0.9)))
    assert found.one_sided(0.5, above=True) == pytest.approx(
        stats.ttest_1samp(values, 0.5, alternative="greater").pvalue
    )
    assert student(values[:2]) is None


def test_holm_multiplies_by_the_number_that_is_left_and_never_falls() -> None:
    # By hand, and the same as statsmodels' multipletests(method="holm").
    assert adjust_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust_holm([0.4, 0.6]) == pytest.approx([0.8, 0.8])
    assert adjust_holm([0.04]) == [0.04]
    assert adjust_holm([0.9, 0.8]) == [1.0, 1.0]
    assert adjust_holm([]) == []
