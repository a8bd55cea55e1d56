"""The main test of a gain: a bootstrap that draws seeds and test examples together, and Holm's adjustment.

In each resample the test examples are drawn with replacement, the same ones for all seeds and both systems
(`statistics.resample_scores`), and then the seeds. Two corrections make up for the small number of seeds n:
the seeds' deviations are stretched by sqrt(n / (n - 1)), since drawing from n values gives them a variance
that is too small by (n - 1) / n; and the whole distribution is stretched by the ratio of Student's quantile
to the normal one, with Welch and Satterthwaite's degrees of freedom for the sum of both variances.
docs/DECISIONS.md (Report) has the measured coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import mean, stdev

import numpy as np
import scipy  # its modules are imported on first use, so that help does not wait for them

from elmo_bench.config import Basis

SEEDS_NEEDED = 3  # fewer have no interval over seeds
LEVEL = 0.95  # of the interval of a difference
EQUIVALENCE_LEVEL = 0.90  # two one-sided tests at 5 % are an interval of 90 %


@dataclass(frozen=True, eq=False)
class Estimate:
    """An effect with its distribution; without draws the distribution is Student's."""

    value: float
    error: float  # standard error
    freedom: float  # degrees of freedom of the error; infinite where no seeds were drawn
    basis: Basis
    count: int  # seeds
    draws: np.ndarray | None = None

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The percentile interval, or Student's."""
        tail = (1 - level) / 2
        if self.draws is None:
            half = float(scipy.stats.t.ppf(1 - tail, self.freedom)) * self.error
            return self.value - half, self.value + half
        low, high = np.quantile(self._stretched(level), (tail, 1 - tail))
        return float(low), float(high)

    def p(self, null: float = 0.0) -> float:
        """Two-sided p of the effect being `null`; below 0.05 only where the 95 % interval excludes it."""
        return min(1.0, 2 * self._tail(null, self.value >= null, LEVEL))

    def one_sided(self, null: float, above: bool) -> float:
        """The p against an effect that is not above `null` (or not below it)."""
        return self._tail(null, above, EQUIVALENCE_LEVEL)

    def _tail(self, null: float, above: bool, level: float) -> float:
        """How much of the distribution lies at `null` or beyond it.

        Of n seeds only so many different draws exist, and the rarest are not rare enough for a small p.
        So the larger of two shares counts: that of the draws (one is added to both of its numbers), and
        that of Student's distribution with the same standard error.
        """
        distance = self.value - null if above else null - self.value
        if self.error > 0:
            share = float(scipy.stats.t.sf(distance / self.error, self.freedom))
        else:
            share = float(np.heaviside(-distance, 0.5))
        if self.draws is None:
            return share
        drawn = self._stretched(level)
        beyond = int((drawn <= null).sum() if above else (drawn >= null).sum())
        return max(share, (1 + beyond) / (1 + len(drawn)))

    def _stretched(self, level: float) -> np.ndarray:
        """The draws, as far from the effect as their degrees of freedom ask for."""
        assert self.draws is not None
        if self.freedom == inf:
            return self.draws
        quantile = 1 - (1 - level) / 2
        factor = float(scipy.stats.t.ppf(quantile, self.freedom) / scipy.stats.norm.ppf(quantile))
        stretched: np.ndarray = self.value + factor * (self.draws - self.value)
        return stretched


def two_level_bootstrap(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], differences: Sequence[float]
) -> Estimate:
    """The gain of the second system over the first, over seeds and test examples.

    `first` and `second` have one array of resampled scores for each seed, all from the same drawn test
    sets; `differences` has the gain of each seed on the whole test set. With fewer than SEEDS_NEEDED seeds
    only examples are drawn, and the basis says so.
    """
    drawn = np.array([b - a for a, b in zip(first, second, strict=True)])  # (seeds, resamples)
    over_examples = drawn.mean(axis=0)
    variance = float(over_examples.var())
    value, seeds = mean(differences), len(differences)
    if seeds < SEEDS_NEEDED:
        return Estimate(value, sqrt(variance), inf, "examples", seeds, over_examples)
    over_seeds = np.einsum("bs,sb->b", draw_seeds(seeds, drawn.shape[1]), drawn)
    draws = over_examples + sqrt(seeds / (seeds - 1)) * (over_seeds - over_examples)
    between = stdev(differences) ** 2 / seeds
    # to within rounding, seeds that agree add nothing
    freedom = (variance + between) ** 2 * (seeds - 1) / between**2 if between > 1e-18 else inf
    return Estimate(value, sqrt(variance + between), freedom, "seeds and examples", seeds, draws)


def draw_seeds(seeds: int, resamples: int) -> np.ndarray:
    """The share of each seed in each resample; the draws depend on the two numbers alone."""
    chosen = np.random.default_rng(1).integers(seeds, size=(resamples, seeds))
    chosen += seeds * np.arange(resamples)[:, None]
    counts = np.bincount(chosen.ravel(), minlength=seeds * resamples).reshape(resamples, seeds)
    shares: np.ndarray = counts / seeds
    return shares


def example_bootstrap(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], differences: Sequence[float]
) -> Estimate:
    """The gain over test examples alone, for systems without chance."""
    drawn = np.mean([b - a for a, b in zip(first, second, strict=True)], axis=0)
    return Estimate(mean(differences), float(drawn.std()), inf, "examples", len(differences), drawn)


def student(values: Sequence[float]) -> Estimate | None:
    """The mean of one value per seed with Student's distribution; fewer than SEEDS_NEEDED have none."""
    if len(values) < SEEDS_NEEDED:
        return None
    return Estimate(mean(values), stdev(values) / sqrt(len(values)), len(values) - 1, "seeds", len(values))


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of one family, adjusted for their number (Holm 1979), in the order given."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        largest = max(largest, (len(p_values) - rank) * p_values[index])
        adjusted[index] = min(1.0, largest)
    return adjusted
