"""Power against published figures and against simulated t-tests."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from scipy import stats

from elmo_bench.report.power import (
    MOST_SEEDS,
    describe_power,
    detectable_effect,
    detectable_gain,
    deviation_of_gain,
    power_of,
    seeds_for,
    spell_power,
)


@pytest.mark.parametrize(("size", "expected"), [(0.2, 199), (0.5, 34), (0.8, 15), (1.0, 10), (1.5, 6)])
def test_seeds_needed_are_those_of_published_tables(size: float, expected: int) -> None:
    # G*Power: difference between two dependent means, two tails, 5 %, power 0.80
    assert seeds_for(size, 1.0) == expected
    assert seeds_for(-3 * size, 3.0) == expected


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_power_is_the_share_of_simulated_t_tests(seeds: int) -> None:
    gain = detectable_gain(2.0, seeds)
    assert power_of(gain, 2.0, seeds) == pytest.approx(0.8, abs=1e-6)
    drawn = np.random.default_rng(3).normal(gain, 2.0, size=(20_000, seeds))
    found = np.mean(stats.ttest_1samp(drawn, 0.0, axis=1).pvalue < 0.05)
    assert found == pytest.approx(0.8, abs=0.012)


def test_no_gain_is_found_as_often_as_the_level_says() -> None:
    assert power_of(0.0, 1.0, 4) == pytest.approx(0.05)
    for level in (0.05, 0.01):
        expected = stats.norm.ppf(1 - level / 2) + stats.norm.ppf(0.8)
        assert detectable_effect(1.0, inf, level) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("seeds", [2, 3, 30])
def test_large_gains_have_power_one_and_no_error(seeds: int) -> None:
    assert power_of(1e4, 1.0, seeds) == pytest.approx(1.0)
    assert power_of(1.0, 1e-14, seeds) == 1.0  # differences that are equal but for their last bits
    assert seeds_for(1.0, 1e-14) == 2


def test_a_gain_that_no_number_of_seeds_shows_has_none() -> None:
    assert seeds_for(0.0, 1.0) is None
    assert seeds_for(0.01, 1.0) is None
    assert str(MOST_SEEDS) in spell_power(1.0, 3, 0.01)


def test_runs_without_any_spread_show_every_gain() -> None:
    assert detectable_gain(0.0, 3) == 0.0
    assert power_of(0.1, 0.0, 3) == 1.0
    assert seeds_for(0.1, 0.0) == 2


def test_deviation_is_that_of_paired_differences_where_there_are_any() -> None:
    first, second = {1: 10.0, 2: 12.0, 3: 11.0}, {1: 20.0, 2: 22.5, 3: 20.5}
    assert deviation_of_gain(first, second) == pytest.approx(np.std([10, 10.5, 9.5], ddof=1))
    apart = {4: 20.0, 5: 22.0}
    assert deviation_of_gain(first, apart) == pytest.approx((1.0 + 2.0) ** 0.5)
    assert deviation_of_gain({1: 3.0}, {1: 4.0}) is None


def test_the_sentence_has_both_answers() -> None:
    assert spell_power(2.0, 5, -1.0) == (
        "5 seeds show a gain of 3.36 with 80 % power; a gain of 1.00 needs 34 seeds "
        "(by the spread over seeds alone)"
    )
    assert spell_power(1.0, 1, 1.0) == "a gain of 1.00 needs 10 seeds (by the spread over seeds alone)"


def test_a_plan_asks_with_the_scores_of_finished_runs() -> None:
    first, second = {1: 10.0, 2: 12.0, 3: 14.0}, {1: 11.0, 2: 15.0, 3: 19.0}  # gains 1, 3, 5
    assert describe_power(first, second, 5) == spell_power(2.0, 5, 3.0)
    assert describe_power(first, second, 5, gain=1.0) == spell_power(2.0, 5, 1.0)
    assert describe_power({1: 10.0}, second, 5).startswith("unknown how many seeds are needed")
