"""Plan a sweep: list the jobs that are missing, without duplicates, and estimate their time."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from elmo_bench.config import RunConfig
from elmo_bench.sweep.outcomes import JobEnd
from elmo_bench.training.progress import spell_time
from elmo_bench.types import BenchError, UsageError

Overrides = list[str]
Kinship = tuple[Any, ...]


@dataclass(frozen=True)
class Target:
    """The record that a job writes."""

    key: str  # the same for jobs that are one run
    record: Path
    done: bool
    group: str  # jobs of one group take about as long
    seconds: float | None  # as measured in similar earlier runs
    published: bool = False  # done, and the record is a published one
    lock: Path | None = None  # of the process that executes the job, unless the job itself waits for it


@dataclass(frozen=True)
class PlannedJob:
    """One job of a sweep: the record that it writes, or why it cannot start."""

    overrides: Overrides
    target: Target | None
    error: BenchError | None = None  # why it cannot start

    def end(self) -> JobEnd:
        """The outcome of a job that is not started."""
        if self.error:
            return JobEnd(self.overrides, self.error.exit_code, str(self.error))
        assert self.target
        return JobEnd(self.overrides, 0, "", str(self.target.record))


@dataclass(frozen=True)
class Plan:
    """The jobs of a sweep without duplicates, and the number of duplicates."""

    jobs: tuple[PlannedJob, ...]
    repeated: int

    @property
    def missing(self) -> list[PlannedJob]:
        """The jobs to start."""
        return [job for job in self.jobs if job.target and not job.target.done]

    @property
    def done(self) -> list[PlannedJob]:
        """The jobs whose records are there."""
        return [job for job in self.jobs if job.target and job.target.done]

    @property
    def broken(self) -> list[PlannedJob]:
        """The jobs that cannot start."""
        return [job for job in self.jobs if job.error]

    @property
    def common_error(self) -> BenchError | None:
        """The reason why no job can start, if it is the same for all."""
        messages = {str(job.error) for job in self.jobs}
        return self.jobs[0].error if len(messages) == 1 else None


def plan_jobs(jobs: Sequence[Overrides], locate: Callable[[Overrides], Target]) -> Plan:
    """Locate the record of every job, and drop duplicate jobs; two different jobs never write one record."""
    planned: dict[str, PlannedJob] = {}
    writers: dict[Path, str] = {}
    for overrides in jobs:
        try:
            found = locate(overrides)
            if writers.setdefault(found.record, found.key) != found.key:
                raise UsageError(
                    f"{found.record}: another job of this sweep with other settings writes it too; give "
                    "each a name of its own, such as 'name=mine-s${seed}'"
                )
            planned.setdefault(found.key, PlannedJob(overrides, found))
        except BenchError as error:
            planned[" ".join(overrides)] = PlannedJob(overrides, None, error)
    return Plan(tuple(planned.values()), len(jobs) - len(planned))


def describe_plan(plan: Plan) -> str:
    """One line per run, then the totals."""
    described = [_without_plan(job.overrides) for job in plan.jobs]
    shared = set.intersection(*map(set, described)) if len(described) > 1 else set()
    lines = []
    if common := [word for word in described[0] if word in shared]:
        lines.append(f"every run: {' '.join(common)}")
    for job, words in zip(plan.jobs, described, strict=True):
        if job.target is None:
            status = "cannot run"
        elif job.target.done:
            status = "published" if job.target.published else "done"
        else:
            seconds = job.target.seconds
            status = "missing, time unknown" if seconds is None else f"missing, ~{spell_time(seconds)}"
        own = " ".join(word for word in words if word not in shared)
        lines.append(f"  {status:22} {own}{f'  ({job.error})' if job.error else ''}")
    return "\n".join([*lines, *describe_sum(plan)])


def _without_plan(overrides: Overrides) -> Overrides:
    """The overrides that describe the job itself."""
    return [word for word in overrides if word.lstrip("+").partition("=")[0] != "plan"]


def describe_sum(plan: Plan) -> list[str]:
    """How many runs are done, missing, broken and duplicate, and the estimated hours of the missing ones."""
    published = sum(job.target is not None and job.target.published for job in plan.done)
    done = f"{len(plan.done)} done" + (f" ({published} published)" if published else "")
    counts = [done, f"{len(plan.missing)} missing"]
    if plan.broken:
        counts.append(f"{len(plan.broken)} cannot run")
    if plan.repeated:
        counts.append(f"{plan.repeated} duplicate(s) dropped")
    lines = [f"{len(plan.jobs)} runs: {', '.join(counts)}"]
    if published:
        lines.append("a sweep does not repeat published runs; force=true does")
    known = [job.target.seconds for job in plan.missing if job.target and job.target.seconds is not None]
    unknown = Counter(job.target.group for job in plan.missing if job.target and job.target.seconds is None)
    if known:
        hours = sum(known) / 3600
        lines.append(f"estimated: {hours:.2f} hours in sequence, for {len(known)} of the missing runs")
    if unknown:
        groups = ", ".join(f"{count} of {group}" for group, count in sorted(unknown.items()))
        lines.append(f"time unknown, because no similar run is recorded yet: {groups}")
    return lines


def estimate_seconds(config: RunConfig) -> float | None:
    """The median time of earlier runs of the same task and size, preferably those that match in ELMo use."""
    earlier = read_times(config.paths.runs, config.paths.records)
    values = config.model_dump(mode="json", by_alias=True)
    times = earlier.get(kinship(values, exactly=True)) or earlier.get(kinship(values, exactly=False))
    return median(times) if times else None


def kinship(values: dict[str, Any], exactly: bool) -> Kinship:
    """The values that runs with about the same duration share."""
    data, training = values["data"], values["task"]["training"]
    size = (values["size"], values["limit"], data["fraction"], data["limit"], training["epochs"])
    kin = (values["task"]["name"], data["source"], data["corpus"], *size)
    return (*kin, values["elmo"]["where"] == "none") if exactly else kin


@lru_cache(maxsize=4)
def read_times(*directories: Path) -> dict[Kinship, list[float]]:
    """The seconds of every recorded run, under both of its keys: with and without the use of ELMo."""
    times = defaultdict(list)
    for path in find_records(directories):
        try:
            record = json.loads(path.read_bytes())
            seconds = sum(record["seconds"].values())
            kin = [kinship(record["config"], exactly) for exactly in (True, False)]
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # not a run's record: nothing to learn from
        for name in kin:
            times[name].append(seconds)
    return dict(times)


def find_records(directories: Iterable[Path]) -> list[Path]:
    """Every file that may be the record of a run, in directories of runs and of published records."""
    patterns = ("*/*/result.json", "*/*.json")
    return [path for directory in directories for pattern in patterns for path in directory.glob(pattern)]
