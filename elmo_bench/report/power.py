"""How many seeds a gain needs: the power of a two-sided paired t-test at 5 %.

Chance over test examples is left out. It does not shrink with more seeds, so the main test may need more.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf, sqrt
from statistics import mean, stdev

import scipy  # its modules are imported on first use, so that help does not wait for them

SIGNIFICANCE = 0.05
POWER = 0.8
MOST_SEEDS = 1000
CERTAIN = 1000.0  # standard errors above zero: every test shows it, and scipy gives no number far above
FAR = 6.0  # standard errors above zero: the tail below it is empty, and scipy's sum for it is not a number


def power_of(gain: float, deviation: float, seeds: int) -> float:
    """The probability that `seeds` paired differences of this deviation show this gain."""
    if deviation == 0:
        return 1.0 if gain else SIGNIFICANCE
    return _power(abs(gain) * sqrt(seeds) / deviation, seeds - 1)


def detectable_gain(deviation: float, seeds: int) -> float:
    """The smallest gain that so many seeds show with a power of 80 %."""
    return detectable_effect(deviation / sqrt(seeds), seeds - 1)


def detectable_effect(error: float, freedom: float, significance: float = SIGNIFICANCE) -> float:
    """The smallest effect that a standard error with these degrees of freedom shows with 80 % power."""
    if error == 0:
        return 0.0

    def lacking(shift: float) -> float:
        return _power(shift, freedom, significance) - POWER

    highest = 1.0
    while lacking(highest) < 0:
        highest *= 2
    return error * float(scipy.optimize.brentq(lacking, 0.0, highest, xtol=1e-9))


def seeds_for(gain: float, deviation: float) -> int | None:
    """The fewest seeds that show a gain with a power of 80 %; none where MOST_SEEDS are too few."""
    if gain == 0 or power_of(gain, deviation, MOST_SEEDS) < POWER:
        return None
    return next(seeds for seeds in range(2, MOST_SEEDS + 1) if power_of(gain, deviation, seeds) >= POWER)


def deviation_of_gain(first: Mapping[int, float], second: Mapping[int, float]) -> float | None:
    """The standard deviation of paired differences, from scores by seed.

    Of the differences where two or more seeds are shared, else of both systems as if they were independent.
    """
    shared = sorted(first.keys() & second.keys())
    if len(shared) > 1:
        return stdev([second[seed] - first[seed] for seed in shared])
    if len(first) > 1 and len(second) > 1:
        return sqrt(stdev(first.values()) ** 2 + stdev(second.values()) ** 2)
    return None


def describe_power(
    first: Mapping[int, float], second: Mapping[int, float], seeds: int, gain: float | None = None
) -> str:
    """How many seeds a comparison needs, from the scores of finished runs by seed.

    `seeds` are those that are or will be run. `gain` is the one asked about; by default that of the finished
    runs. Before two runs of each side are finished, nothing is known of their spread, which is said.
    """
    deviation = deviation_of_gain(first, second)
    if deviation is None:
        return "unknown how many seeds are needed: two finished runs of both sides tell their spread"
    if gain is None:
        gain = mean(second.values()) - mean(first.values())
    return spell_power(deviation, seeds, gain)


def spell_power(deviation: float, seeds: int, gain: float) -> str:
    """Two answers in a sentence: what so many seeds show, and how many a gain needs."""
    parts = []
    if seeds > 1:
        found = detectable_gain(deviation, seeds)
        parts.append(f"{seeds} seeds show a gain of {found:.2f} with 80 % power")
    if gain:
        needed = seeds_for(gain, deviation)
        number = f"more than {MOST_SEEDS}" if needed is None else str(needed)
        parts.append(f"a gain of {abs(gain):.2f} needs {number} seeds")
    return f"{'; '.join(parts)} (by the spread over seeds alone)" if parts else ""


def _power(shift: float, freedom: float, significance: float = SIGNIFICANCE) -> float:
    """The power at a true effect of `shift` standard errors."""
    if shift > CERTAIN:
        return 1.0
    if isinf(freedom):
        critical = float(scipy.stats.norm.ppf(1 - significance / 2))
        return float(scipy.stats.norm.sf(critical - shift) + scipy.stats.norm.cdf(-critical - shift))
    critical = float(scipy.stats.t.ppf(1 - significance / 2, freedom))
    above = float(scipy.stats.nct.sf(critical, freedom, shift))
    below = float(scipy.stats.nct.cdf(-critical, freedom, shift)) if shift < FAR else 0.0
    return above + below


def detectable_margin(error: float, freedom: float, significance: float = SIGNIFICANCE) -> float:
    """The smallest margin within which two equal systems are shown to be equivalent, with 80 % power.

    Two one-sided tests; each must succeed where nine in ten do, so that both do in eight of ten.
    """
    both = (1 - significance, (1 + POWER) / 2)
    distribution = scipy.stats.norm() if isinf(freedom) else scipy.stats.t(freedom)
    return error * sum(float(distribution.ppf(quantile)) for quantile in both)
