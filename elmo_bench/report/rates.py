"""Which learning rate is best for every encoder, the baseline included, by dev scores alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import mean

from elmo_bench.commands import spell_run
from elmo_bench.conditions import describe_condition, is_baseline, name_encoders
from elmo_bench.hashing import hash_value
from elmo_bench.records import Record
from elmo_bench.report.baseline import (
    at_any_rate,
    describe_share,
    is_whole,
    place_of,
    rate_of,
    setting_at_any_rate,
    share_of,
    words_of,
)
from elmo_bench.report.convergence import spell_capped
from elmo_bench.report.differences import distinguish
from elmo_bench.report.overrides import choose_condition


@dataclass(frozen=True)
class Tried:
    """One encoder, or none, on one task: its runs by rate and seed."""

    runs: Mapping[float, Mapping[int, Record]]

    @cached_property
    def first(self) -> Record:
        """Any of the runs, for what all of them share."""
        return next(iter(next(iter(self.runs.values())).values()))

    @property
    def scores(self) -> dict[float, float]:
        """The mean dev score of every rate, the lowest rate first."""
        return {
            rate: mean(record.scores["dev"][record.metric] for record in seeds.values())
            for rate, seeds in sorted(self.runs.items())
        }

    @property
    def best(self) -> float:
        """The rate with the highest mean dev score; the lower one of two."""
        return max(self.scores, key=lambda rate: (self.scores[rate], -rate))

    @property
    def grid(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        """The rates and the seeds of each, which must be the same for all that are compared."""
        return tuple((rate, tuple(sorted(seeds))) for rate, seeds in sorted(self.runs.items()))

    @property
    def command(self) -> str:
        """The command of the runs with the best rate, whose test scores are then reported."""
        rate = f"task.training.optimiser.lr={self.best:g}"
        return spell_run([*choose_condition(self.first), rate, "seed=1,2,3"], sweep=True)

    def remarks(self) -> list[str]:
        """What makes the choice doubtful."""
        rates = list(self.scores)
        found = []
        if self.best in (rates[0], rates[-1]):
            end = "lowest" if self.best == rates[0] else "highest"
            found.append(f"the best rate is the {end} of the grid: try rates beyond {self.best:g}")
        if capped := spell_capped(self.runs[self.best].values()):
            found.append(f"at the best rate: {capped}")
        return found


@dataclass(frozen=True)
class TaskRates:
    """All encoders that were tried at several rates on one task and corpus."""

    title: str
    tried: tuple[Tried, ...]  # the baseline first

    @property
    def labels(self) -> list[str]:
        """The conditions in words; no two are the same."""
        records = [one.first for one in self.tried]
        names = name_encoders(records)
        described = [describe_condition(record, names) for record in records]
        return distinguish(described, [at_any_rate(record) for record in records])

    @property
    def is_even(self) -> bool:
        """Whether every encoder had the same rates and seeds."""
        return len({one.grid for one in self.tried}) == 1


def find_rates(records: Iterable[Record]) -> list[TaskRates]:
    """The runs that have never seen test data (evaluate.splits=dev), where there are several rates."""
    tasks: dict[tuple[object, ...], dict[str, dict[float, dict[int, Record]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    for record in records:
        rate = rate_of(record)
        if record.debug or "test" in record.scores or rate is None:
            continue
        key = (record.task, *place_of(record), setting_at_any_rate(record), *map(str, share_of(record)))
        tasks[key][_row_of(record)][rate][record.seed] = record
    found = []
    for _, rows in sorted(tasks.items()):
        tried = [Tried(runs) for runs in rows.values()]
        tried.sort(key=lambda one: (not is_baseline(one.first), one.first.encoder or "", _row_of(one.first)))
        if any(len(one.runs) > 1 for one in tried):
            found.append(TaskRates(_title(tried[0].first), tuple(tried)))
    return found


def _title(record: Record) -> str:
    """The task, where its data are from, and how much of the training set if that is not the usual part."""
    unusual = [] if is_whole(record) else describe_share(record) or ["all of the training set"]
    place = ", ".join([record.source, f"size {record.size}", *unusual])
    return f"{record.task} on {record.corpus} ({place}), dev {record.metric}"


def _row_of(record: Record) -> str:
    """A short name of what may differ between the runs of a task: all of ELMo, and the word vectors."""
    identity = record.identity
    parts = [identity["elmo"], identity.get("encoder_fingerprint"), identity.get("store"), words_of(record)]
    return hash_value(parts)


def describe_rates(found: TaskRates) -> str:
    """One line per encoder with its mean dev score at every rate, then what to run and what to doubt."""
    rates = sorted({rate for one in found.tried for rate in one.runs})
    labels = found.labels
    width = max(map(len, labels))
    lines = [found.title, f"  {'':{width}}  " + "  ".join(f"{rate:>7g}" for rate in rates) + "     best"]
    for label, one in zip(labels, found.tried, strict=True):
        scores = one.scores
        cells = [f"{scores[rate]:7.2f}" if rate in scores else " " * 7 for rate in rates]
        lines.append(f"  {label:{width}}  " + "  ".join(cells) + f"  {one.best:>7g}")
        lines += [f"    {remark}" for remark in one.remarks()]
    if not found.is_even:
        lines.append("  not the same rates and seeds for all: the choice is not fair yet")
    return "\n".join([*lines, "  next:", *(f"    {one.command}" for one in found.tried)])


def rates_as_json(found: TaskRates) -> list[dict[str, object]]:
    """The choice for every encoder, with all digits."""
    return [
        {
            "task": one.first.task,
            "corpus": one.first.corpus,
            "source": one.first.source,
            "size": one.first.size,
            "condition": label,
            "encoder": one.first.encoder,
            "encoder_fingerprint": one.first.identity.get("encoder_fingerprint"),
            "dev": {f"{rate:g}": score for rate, score in one.scores.items()},
            "seeds": {f"{rate:g}": list(seeds) for rate, seeds in one.grid},
            "best": one.best,
            "fair": found.is_even,
            "remarks": one.remarks(),
            "command": one.command,
        }
        for label, one in zip(found.labels, found.tried, strict=True)
    ]
