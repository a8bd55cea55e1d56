"""Every verdict, and every border between two of them."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from scipy import stats

from elmo_bench.config import Direction
from elmo_bench.report.inference import Estimate
from elmo_bench.report.power import detectable_effect, detectable_margin
from elmo_bench.report.verdicts import Claimed, Verdict, judge

GREATER = Claimed("greater")


def verdict_of(claimed: Claimed = GREATER, **changes: Any) -> Verdict:
    """The verdict on a clear gain of five converged seeds, with some of that changed."""
    facts: dict[str, Any] = {
        "effect": 3.0,
        "interval": (1.0, 5.0),
        "adjusted_p": 0.01,
        "seeds": 5,
        "seeds_needed": 3,
        "converged": [True] * 10,
        **changes,
    }
    return judge(claimed, **facts)


def test_a_clear_gain_holds() -> None:
    assert verdict_of() == Verdict.HOLDS


def test_a_clear_loss_is_contrary() -> None:
    assert verdict_of(effect=-3.0, interval=(-5.0, -1.0)) == Verdict.CONTRARY


@pytest.mark.parametrize(("p", "verdict"), [(0.0499, Verdict.HOLDS), (0.05, Verdict.UNDETERMINED)])
def test_p_must_be_below_five_percent(p: float, verdict: Verdict) -> None:
    assert verdict_of(adjusted_p=p) == verdict


@pytest.mark.parametrize(("low", "verdict"), [(1e-9, Verdict.HOLDS), (0.0, Verdict.UNDETERMINED)])
def test_the_interval_must_exclude_no_gain(low: float, verdict: Verdict) -> None:
    assert verdict_of(interval=(low, 5.0)) == verdict
    opposite = {Verdict.HOLDS: Verdict.CONTRARY}.get(verdict, verdict)
    assert verdict_of(effect=-3.0, interval=(-5.0, -low)) == opposite


def test_one_run_at_its_cap_forbids_any_verdict_from_the_numbers() -> None:
    assert verdict_of(converged=[True] * 9 + [False]) == Verdict.NOT_CONVERGED
    assert verdict_of(converged=[False], seeds=1, adjusted_p=None, interval=None) == Verdict.NOT_CONVERGED


@pytest.mark.parametrize(("seeds", "verdict"), [(2, Verdict.UNDETERMINED), (3, Verdict.HOLDS)])
def test_fewer_seeds_than_the_test_needs_leave_it_open(seeds: int, verdict: Verdict) -> None:
    assert verdict_of(seeds=seeds) == verdict
    assert verdict_of(seeds=1, seeds_needed=1) == Verdict.HOLDS


def test_without_a_test_nothing_is_determined() -> None:
    assert verdict_of(interval=None) == Verdict.UNDETERMINED
    assert verdict_of(adjusted_p=None) == Verdict.UNDETERMINED


def test_nothing_run_comes_before_everything_else() -> None:
    assert verdict_of(effect=None, converged=[False]) == Verdict.NOT_RUN
    assert verdict_of(seeds=0) == Verdict.NOT_RUN


@pytest.mark.parametrize(
    ("direction", "interval", "verdict"),
    [
        ("smaller", (-5.0, -1.0), Verdict.HOLDS),
        ("smaller", (1.0, 5.0), Verdict.CONTRARY),
        ("smaller", (-1.0, 5.0), Verdict.UNDETERMINED),
        ("at least", (-0.9, 5.0), Verdict.HOLDS),
        ("at least", (-1.0, 5.0), Verdict.UNDETERMINED),
        ("at least", (-5.0, -1.1), Verdict.CONTRARY),
        ("at most", (-5.0, 0.9), Verdict.HOLDS),
        ("at most", (-5.0, 1.0), Verdict.UNDETERMINED),
        ("at most", (1.1, 5.0), Verdict.CONTRARY),
        ("equivalent", (-0.9, 0.9), Verdict.HOLDS),
        ("equivalent", (-0.9, 1.0), Verdict.UNDETERMINED),
        ("equivalent", (-1.0, 0.9), Verdict.UNDETERMINED),
        ("equivalent", (1.1, 3.0), Verdict.CONTRARY),
        ("equivalent", (-3.0, -1.1), Verdict.CONTRARY),
        ("equivalent", (1.0, 3.0), Verdict.UNDETERMINED),
    ],
)
def test_every_direction_has_its_own_region(
    direction: Direction, interval: tuple[float, float], verdict: Verdict
) -> None:
    claimed = Claimed(direction, margin=1.0)
    assert verdict_of(claimed, effect=sum(interval) / 2, interval=interval) == verdict


def estimate(value: float) -> Estimate:
    """A normal effect with a standard error of 1."""
    draws = value + stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    return Estimate(value, 1.0, inf, "seeds and examples", 3, draws)


def test_a_gain_is_tested_two_sided_against_none() -> None:
    expected = 2 * stats.norm.sf(1.5)
    assert GREATER.p_of(estimate(1.5)) == pytest.approx(expected, abs=2e-4)
    assert GREATER.p_of(estimate(-1.5)) == pytest.approx(expected, abs=2e-4)
    assert Claimed("smaller").p_of(estimate(-1.5)) == pytest.approx(expected, abs=2e-4)


def test_margins_move_the_end_that_is_tested() -> None:
    assert Claimed("at least", 1.0).p_of(estimate(0.5)) == pytest.approx(2 * stats.norm.sf(1.5), abs=2e-4)
    assert Claimed("at most", 1.0).p_of(estimate(-0.5)) == pytest.approx(2 * stats.norm.sf(1.5), abs=2e-4)


def test_equivalence_is_two_one_sided_tests_and_its_opposite_a_two_sided_one() -> None:
    claimed = Claimed("equivalent", 2.0)
    assert claimed.p_of(estimate(0.5)) == pytest.approx(stats.norm.sf(1.5), abs=2e-4)
    assert claimed.p_of(estimate(-0.5)) == pytest.approx(stats.norm.sf(1.5), abs=2e-4)
    assert claimed.p_of(estimate(5.0)) == pytest.approx(2 * stats.norm.sf(3.0), abs=2e-4)
    assert claimed.p_of(estimate(-5.0)) == pytest.approx(2 * stats.norm.sf(3.0), abs=2e-4)
    assert (claimed.level, GREATER.level) == (0.90, 0.95)


@pytest.mark.parametrize("margin", [1.5, 1.7, 2.5, 4.0])
def test_equivalence_is_found_exactly_where_the_ninety_percent_interval_is_inside(margin: float) -> None:
    claimed, found = Claimed("equivalent", margin), estimate(0.0)
    low, high = found.interval(claimed.level)
    assert (claimed.p_of(found) < 0.05) == (-margin < low and high < margin)


def test_what_could_have_been_seen_has_eighty_percent_power() -> None:
    assert GREATER.detectable(estimate(0.0), tests=1) == detectable_effect(1.0, inf)
    claimed = Claimed("equivalent", 1.0)
    assert claimed.detectable(estimate(0.0), tests=1) == detectable_margin(1.0, inf)
    assert claimed.detectable(estimate(0.0), tests=5) == detectable_margin(1.0, inf, 0.01)
    margin = detectable_margin(1.0, inf)
    found = np.random.default_rng(0).normal(size=40_000)
    shown = np.abs(found) < margin - stats.norm.ppf(0.95)  # both one-sided tests below 5 %
    assert shown.mean() == pytest.approx(0.8, abs=0.01)
