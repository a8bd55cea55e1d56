"""The verdict on a claim, from what was measured. A pure function: no verdict is typed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from elmo_bench.config import Direction
from elmo_bench.report.inference import EQUIVALENCE_LEVEL, LEVEL, Estimate
from elmo_bench.report.power import SIGNIFICANCE, detectable_effect, detectable_margin


class Verdict(StrEnum):
    """What is known of a claim."""

    HOLDS = "holds"
    CONTRARY = "contrary"
    UNDETERMINED = "undetermined"
    NOT_CONVERGED = "not converged"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Claimed:
    """Where an effect lies if the claim is true: above 0, or no further than a margin from it."""

    direction: Direction
    margin: float = 0.0

    @property
    def region(self) -> tuple[float, float]:
        """The effects that agree with the claim, without the two ends."""
        ends: dict[Direction, tuple[float, float]] = {
            "greater": (0.0, inf),
            "smaller": (-inf, 0.0),
            "at least": (-self.margin, inf),
            "at most": (-inf, self.margin),
            "equivalent": (-self.margin, self.margin),
        }
        return ends[self.direction]

    @property
    def level(self) -> float:
        """Of the interval that belongs to the test."""
        return EQUIVALENCE_LEVEL if self.direction == "equivalent" else LEVEL

    def p_of(self, estimate: Estimate) -> float:
        """The p of the test that an effect of this size calls for.

        Inside the region it is tested that the true effect lies outside, and the other way round. Only one
        of the two can be true, so each test has its level for itself. Equivalence is two one-sided tests;
        all others are two-sided tests at the end of the region.
        """
        low, high = self.region
        if low < estimate.value < high:
            if self.direction == "equivalent":
                return max(estimate.one_sided(low, above=True), estimate.one_sided(high, above=False))
            return estimate.p(low if low > -inf else high)
        return estimate.p(low if estimate.value <= low else high)

    def detectable(self, estimate: Estimate, tests: int) -> float:
        """The smallest effect (for equivalence, the smallest margin) that 80 % power would have shown.

        Of so many tests, each has its share of the level, so it holds whatever the p of the others.
        """
        smallest = detectable_margin if self.direction == "equivalent" else detectable_effect
        return smallest(estimate.error, estimate.freedom, SIGNIFICANCE / tests)


def judge(
    claimed: Claimed,
    effect: float | None,
    interval: tuple[float, float] | None,
    adjusted_p: float | None,
    seeds: int,
    seeds_needed: int,
    converged: Sequence[bool],
) -> Verdict:
    """The verdict on a claim.

    Nothing was run: not run. A run of either side met its cap: not converged, whatever the numbers. Too few
    seeds for the claim's test, or no test at all: undetermined. Else the adjusted p and the interval decide:
    holds where both exclude what contradicts the claim, contrary where both exclude what agrees with it.
    """
    if effect is None or seeds == 0:
        return Verdict.NOT_RUN
    if not all(converged):
        return Verdict.NOT_CONVERGED
    if seeds < seeds_needed or interval is None or adjusted_p is None or not adjusted_p < SIGNIFICANCE:
        return Verdict.UNDETERMINED
    low, high = claimed.region
    if low < interval[0] and interval[1] < high:
        return Verdict.HOLDS
    if interval[1] < low or high < interval[0]:
        return Verdict.CONTRARY
    return Verdict.UNDETERMINED
