"""From the runs of a finding to its effect: one small function for each kind of effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import mean

from elmo_bench.config import FindingConfig
from elmo_bench.records import PerplexityRecord, Record
from elmo_bench.report.cells import name_pairs, name_runs
from elmo_bench.report.claims import Sides
from elmo_bench.report.comparison import Referee, Run, differences_of
from elmo_bench.report.convergence import met_cap, passing_of
from elmo_bench.report.inference import Estimate, student
from elmo_bench.types import UsageError

RATIOS = ("updates", "perplexity")  # kinds whose effect is the logarithm of second / first


@dataclass(frozen=True)
class Effect:
    """What the second condition has more than the first, over the seeds that both have."""

    value: float
    seeds: tuple[int, ...]
    converged: tuple[bool, ...]  # one for each run of either side
    first: float | None = None  # means of both sides
    second: float | None = None
    estimate: Estimate | None = None  # none where runs met their cap, or do not allow the finding's test
    runs: tuple[str, ...] = ()  # condition and seed


def measure_score(finding: FindingConfig, sides: Sides, referee: Referee) -> Effect | None:
    """The gain in score."""
    pairs = sides.pairs
    if not pairs:
        return None
    metric = finding.metric or pairs[0][0].record.metric
    known = pairs[0][0].record.scores[finding.split]
    if metric not in known:
        raise UsageError(f"metric {metric} of {finding.claim!r}: expected one of {', '.join(sorted(known))}")
    mean_before, mean_after = (
        mean(run.record.scores[finding.split][metric] for run in side) for side in zip(*pairs, strict=True)
    )
    found = Effect(
        value=mean(differences_of(pairs, finding.split, metric)),
        seeds=tuple(before.seed for before, _ in pairs),
        converged=_converged(run.record for pair in pairs for run in pair),
        first=mean_before,
        second=mean_after,
        runs=name_pairs(pairs),
    )
    if not all(found.converged):
        return found  # nothing is concluded from its numbers
    return replace(found, estimate=referee.estimate(pairs, finding.split, metric))


def measure_updates(finding: FindingConfig, sides: Sides, referee: Referee) -> Effect | None:
    """How many updates the second needs to pass the first's best dev score, in proportion to the first's.

    A run that never passes counts as one that did at its last update, and not before the first's best.
    """
    pairs = [pair for pair in sides.pairs if all(run.record.curve for run in pair)]
    if not pairs:
        return None
    passings = [passing_of(before.record, after.record) for before, after in pairs]
    needed = [one.passed or max(one.total, one.baseline) for one in passings]
    ratios = [log(mine / one.baseline) for mine, one in zip(needed, passings, strict=True)]
    return _over_seeds(
        ratios,
        [run for pair in pairs for run in pair],
        [before.seed for before, _ in pairs],
        mean(one.baseline for one in passings),
        mean(needed),
    )


def measure_layer_weight(finding: FindingConfig, sides: Sides, referee: Referee) -> Effect | None:
    """By how much one layer weighs more than the heaviest of the others."""
    place, layer = finding.place, finding.layer
    runs = [run for run in sides.second.values() if layer in run.record.layer_weights(place)]
    if not runs:
        return None
    weights = [run.record.layer_weights(place) for run in runs]
    ahead = [row[layer] - max(row[other] for other in row if other != layer) for row in weights]
    return _over_seeds(ahead, runs, [run.seed for run in runs], None, mean(row[layer] for row in weights))


MEASURES: dict[str, Callable[[FindingConfig, Sides, Referee], Effect | None]] = {
    "score": measure_score,
    "updates": measure_updates,
    "layer_weight": measure_layer_weight,
}


def measure_perplexity(records: Sequence[PerplexityRecord], stream: str) -> Effect:
    """Perplexity of a text after fine-tuning, in proportion to before, every sentence from a fresh state.

    Fine-tuning that waits for dev text to stop improving has not converged where it met its cap before.
    """
    texts = [record.streams[stream] for record in records]
    ratios = [log(text.after.average / text.before.average) for text in texts]
    converged = tuple(record.best_step is None or record.stopped != "cap" for record in records)
    return Effect(
        value=mean(ratios),
        seeds=tuple(record.seed for record in records),
        converged=converged,
        first=mean(text.before.average for text in texts),
        second=mean(text.after.average for text in texts),
        estimate=student(ratios) if all(converged) else None,
    )


def as_shown(kind: str, value: float) -> float:
    """An effect as a reader is shown it: a difference, or a ratio."""
    return exp(value) if kind in RATIOS else value


def _over_seeds(
    values: Sequence[float], runs: Sequence[Run], seeds: Sequence[int], first: float | None, second: float
) -> Effect:
    """An effect of which every seed has one value."""
    converged = _converged(run.record for run in runs)
    estimate = student(values) if all(converged) else None
    return Effect(mean(values), tuple(seeds), converged, first, second, estimate, name_runs(runs))


def _converged(records: Iterable[Record]) -> tuple[bool, ...]:
    return tuple(not met_cap(record) for record in records)
