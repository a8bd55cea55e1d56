"""Compute scores from published counts, with the task that each record names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from elmo_bench.catalog import list_tasks, read_task
from elmo_bench.conditions import fill_in
from elmo_bench.config import PathsConfig, TaskConfig
from elmo_bench.plugins import find_score
from elmo_bench.records import Record
from elmo_bench.report.comparison import Referee
from elmo_bench.report.statistics import Score
from elmo_bench.types import UsageError

DRAWN_SCORES = "resamples"  # below paths.cache


def find_scores(records: Iterable[Record]) -> tuple[dict[str, Score], list[str]]:
    """The score function of every task in the records, and for other tasks why they have none."""
    scores: dict[str, Score] = {}
    problems: dict[str, str] = {}
    for record in records:
        if record.task not in scores:
            try:
                scores[record.task] = find_score(installed_task(record))
                problems.pop(record.task, None)
            except UsageError as error:
                problems[record.task] = f"{record.task}: no tests over examples, because {error}"
    return scores, list(problems.values())


class ScoresOnDemand(Mapping[str, Score]):
    """The score of every task of the records, found when a test first needs one.

    Only a task whose file names no function for its score has to be imported, and PyTorch with it.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records

    @cached_property
    def found(self) -> dict[str, Score]:
        """The scores of all tasks, found once."""
        return find_scores(self.records)[0]

    def __getitem__(self, task: str) -> Score:
        return self.found[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def build_referee(records: Sequence[Record], paths: PathsConfig) -> Referee:
    """Who compares runs: it finds a score when a test needs it, and keeps what it draws in the cache."""
    return Referee(ScoresOnDemand(records), cache=paths.cache / DRAWN_SCORES)


def installed_task(record: Record) -> TaskConfig:
    """The task of a record: its settings come from the record, its code from this installation alone."""
    if record.task not in list_tasks():
        raise UsageError(f"task {record.task!r} is not installed; a task of your own needs --config-dir")
    config = read_task(record.task)
    recorded = record.config.get("task", {})
    if "settings" not in recorded:
        return config
    settings = fill_in(recorded["settings"], config.as_before)
    return config.model_copy(update={"settings": settings})
