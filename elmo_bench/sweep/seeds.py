"""How many seeds the gains of a planned sweep need, estimated from its finished runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from elmo_bench.conditions import describe_condition, name_encoders
from elmo_bench.records import Record, read_record
from elmo_bench.report.baseline import baseline_of
from elmo_bench.report.convergence import is_one_pass
from elmo_bench.report.power import describe_power, deviation_of_gain
from elmo_bench.report.summary import describe_peculiarities
from elmo_bench.sweep.plan import Plan


def describe_seeds(plan: Plan) -> list[str]:
    """One line for every condition with ELMo whose spread is known."""
    done = [read_record(job.target.record) for job in plan.done if job.target]
    records = [record for record in done if not is_one_pass(record)]  # of others, seeds change nothing
    names = name_encoders(records)
    lines = []
    for condition, runs in _by_condition(records).items():
        baseline = baseline_of(runs[0], records)
        scores = _by_seed(runs)
        of_baseline = _by_seed(record for record in records if record.condition == baseline)
        if deviation_of_gain(of_baseline, scores) is not None:
            answer = describe_power(of_baseline, scores, _count_seeds(plan, condition))
            others = [record for record in records if record.task == runs[0].task]
            said = describe_condition(runs[0], names) + describe_peculiarities(runs[0], others)
            lines.append(f"seeds: {runs[0].task}, {said}: {answer}")
    return lines


def _by_condition(records: Iterable[Record]) -> dict[str, list[Record]]:
    grouped: dict[str, list[Record]] = {}
    for record in records:
        grouped.setdefault(record.condition, []).append(record)
    return grouped


def _by_seed(records: Iterable[Record]) -> dict[int, float]:
    """The reported score: on test, or on dev if the run did not use the test data."""
    return {record.seed: record.scores.get("test", record.scores["dev"])[record.metric] for record in records}


def _count_seeds(plan: Plan, condition: str) -> int:
    """The seeds of a condition in the whole plan, finished or not."""
    directories = [Path(job.target.key).name for job in plan.jobs if job.target]
    return sum(name.startswith(f"{condition}-s") for name in directories)
