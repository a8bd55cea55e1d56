"""How sure a difference is: over seeds, over test examples, and over single answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from statistics import mean, median, stdev

import numpy as np
import scipy  # its modules are imported on first use, so that help does not wait for them

from elmo_bench.records import CountTable
from elmo_bench.report.inference import SEEDS_NEEDED
from elmo_bench.types import Counts, Scores

Score = Callable[[Sequence[Counts]], Scores]
"""A task's `score`, handed in by who knows the task."""

PART = ":"  # counts named `x:part` belong to a label or a test set, never to the whole
RESAMPLES = 10_000
LEAST_RESAMPLES = 100  # with fewer, a handful of values decide a 95 % interval
CELLS = 4_000_000  # of a block of drawn examples: some 32 MB
KEPT = 400_000_000  # bytes of drawn test sets; SNLI's have 100 MB
CELLS_IN_CACHE = 100_000  # of a block that stays in the processor's cache, which is twice as fast


@dataclass(frozen=True)
class Spread:
    """A mean with the standard deviation (n - 1) of its n values; one value has none."""

    mean: float
    deviation: float | None
    count: int


@dataclass(frozen=True)
class Gain:
    """The mean of paired differences with its 95 % t-interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Bootstrap:
    """A gain's 95 % percentile interval over test examples, and the two-sided p of no gain."""

    low: float
    high: float
    p: float


@dataclass(frozen=True)
class McNemar:
    """Answers that only one of two systems has right, and the exact two-sided p of no difference."""

    only_first: int
    only_second: int
    p: float


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation."""
    return Spread(mean(values), stdev(values) if len(values) > 1 else None, len(values))


def paired_gain(differences: Sequence[float]) -> Gain | None:
    """The gain over paired seeds; fewer than SEEDS_NEEDED have no interval."""
    if len(differences) < SEEDS_NEEDED:
        return None
    centre, deviation = mean(differences), stdev(differences)
    half = float(scipy.stats.t.ppf(0.975, len(differences) - 1)) * deviation / sqrt(len(differences))
    return Gain(centre, centre - half, centre + half)


def flip_signs(differences: Sequence[float]) -> float | None:
    """Two-sided p of no gain when every seed's difference might as well have had the other sign.

    All signs are tried, or RESAMPLES of them where there are more.
    """
    if len(differences) < 2:
        return None
    tested = scipy.stats.permutation_test(
        (np.array(differences),),
        np.sum,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(0),
    )
    return float(tested.pvalue)


def _at_least(found: np.ndarray, observed: float) -> np.ndarray:
    """Which values are as far from 0 as the observed one, to within rounding."""
    far: np.ndarray = np.abs(found) >= abs(observed) - 1e-9 * max(1.0, abs(observed))
    return far


def resample_scores(counts: CountTable, score: Score, metric: str, resamples: int = RESAMPLES) -> np.ndarray:
    """The score of test sets drawn from the examples with replacement.

    The draws depend on the number of examples alone, so that two systems, and all of their seeds, meet
    the same drawn test sets: the difference of two such arrays is paired.
    """
    needed = keep_needed(counts, score, metric)
    # Sums of whole numbers are exact in blocks of any size; last bits of others depend on the size.
    is_whole = bool((needed.matrix == np.rint(needed.matrix)).all())
    rows = max(1, (CELLS_IN_CACHE if is_whole else CELLS) // len(counts))
    scores = [
        score([dict(zip(needed.columns, row, strict=True))])[metric]
        for weights in draw_weights(len(counts), resamples)
        for start in range(0, len(weights), rows)
        for row in (weights[start : start + rows].astype(np.float64) @ needed.matrix).tolist()
    ]
    return np.array(scores)


def keep_needed(counts: CountTable, score: Score, metric: str) -> CountTable:
    """The counts without those of parts, where the score can do without."""
    whole = [place for place, name in enumerate(counts.columns) if PART not in name]
    bare = CountTable(
        tuple(counts.columns[place] for place in whole), np.ascontiguousarray(counts.matrix[:, whole])
    )
    return bare if whole and score([bare.total]).get(metric) == score([counts.total])[metric] else counts


def draw_weights(examples: int, resamples: int) -> Iterable[np.ndarray]:
    """How often each example is in each drawn test set, in blocks of test sets: (test sets, examples).

    Test sets that are too large to keep are drawn anew for every run.
    """
    if examples * resamples <= KEPT:
        return _keep_weights(examples, resamples)
    return _draw_weights(examples, resamples)


@lru_cache(maxsize=2)  # dev and test of a task: its runs, one after the other, meet the same drawn test sets
def _keep_weights(examples: int, resamples: int) -> tuple[np.ndarray, ...]:
    return tuple(_draw_weights(examples, resamples))


def _draw_weights(examples: int, resamples: int) -> Iterator[np.ndarray]:
    """One byte is enough: a chance of less than 1 in 10^500 draws the same example more than 255 times."""
    random = np.random.default_rng(0)
    rows = max(1, CELLS // examples)
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        drawn = random.integers(examples, size=(count, examples))
        drawn += examples * np.arange(count)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=count * examples).astype(np.uint8)
        weights = weights.reshape(count, examples)
        weights.flags.writeable = False  # all callers have the same array
        yield weights


def paired_bootstrap(first: Sequence[np.ndarray], second: Sequence[np.ndarray], observed: float) -> Bootstrap:
    """The gain of the second over the first, seed by seed on the same drawn test sets."""
    gains = np.mean([b - a for a, b in zip(first, second, strict=True)], axis=0)
    low, high = np.quantile(gains, (0.025, 0.975))
    # Under no gain, resampled gains would lie around 0 as they now lie around the observed one.
    extreme = int(_at_least(gains - observed, observed).sum())
    return Bootstrap(float(low), float(high), (1 + extreme) / (1 + len(gains)))


def compare_answers(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """McNemar's test in its exact, binomial form."""
    pairs = list(zip(first, second, strict=True))
    only_first = sum(a and not b for a, b in pairs)
    only_second = sum(b and not a for a, b in pairs)
    total = only_first + only_second
    p = min(1.0, 2 * float(scipy.stats.binom.cdf(min(only_first, only_second), total, 0.5))) if total else 1.0
    return McNemar(only_first, only_second, p)


def combine(p_values: Sequence[float]) -> float:
    """Twice the median: valid however the tests depend on each other (Rüger 1978); one stays as it is."""
    return p_values[0] if len(p_values) == 1 else min(1.0, 2 * median(p_values))


def right_answers(counts: CountTable, score: Score, metric: str) -> list[bool] | None:
    """Whether each example is right, where a score is the share of right examples; else nothing."""
    known: dict[tuple[tuple[str, float], ...], float] = {}
    singles = []
    for row in counts.rows():
        key = tuple(sorted((name, value) for name, value in row.items() if PART not in name))
        if key not in known:
            known[key] = score([row])[metric]
        if known[key] not in (0.0, 100.0):
            return None
        singles.append(known[key] == 100.0)
    share = 100 * sum(singles) / len(singles)
    return singles if abs(share - score([counts.total])[metric]) < 1e-9 else None


def error_reduction(baseline: float, gain: float) -> float | None:
    """The gain in percent of what the baseline still had wrong (Table 1); a perfect one had nothing."""
    return 100 * gain / (100 - baseline) if baseline < 100 else None
