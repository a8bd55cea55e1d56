"""How published counts become scores: by the task that each record names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from elmo_bench.config import TaskConfig, read_config
from elmo_bench.records import Record
from elmo_bench.report.statistics import Score
from elmo_bench.runner.plugin import load_task
from elmo_bench.types import Counts, Scores, UsageError


def find_scores(records: Iterable[Record]) -> tuple[dict[str, Score], list[str]]:
    """The score of every task there are records of, and why a task has none."""
    scores: dict[str, Score] = {}
    problems: dict[str, str] = {}
    for record in records:
        if record.task not in scores:
            try:
                scores[record.task] = find_score(record)
                problems.pop(record.task, None)
            except UsageError as error:
                problems[record.task] = f"{record.task}: no tests over examples, since {error}"
    return scores, list(problems.values())


def find_score(record: Record) -> Score:
    """What the record's plug-in makes of counts."""
    task = load_task(read_config(TaskConfig, record.config["task"], "task"))

    def score(counts: Sequence[Counts]) -> Scores:
        return task.score(counts)

    return score
