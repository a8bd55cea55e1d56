"""The kinds of jobs: runs, nearest-neighbour queries, fine-tunings and pre-trainings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from elmo_bench.config import Config, read_config
from elmo_bench.sweep.plan import Plan, Target

Command = TypeVar("Command", bound=Config)


@dataclass(frozen=True)
class JobKind(Generic[Command]):
    """One kind of job: its primary file in `conf`, its typed configuration, and how to run it."""

    primary: str  # the name of the file
    command: type[Command]
    run: Callable[[Command, Sequence[str]], Path]  # also takes a single job's overrides; returns its record
    locate: Callable[[Command], Target]  # computes nothing
    expand: Callable[[list[str], Callable[[list[str]], Command]], list[list[str]]] = lambda job, read: [job]
    """The jobs that one job of a sweep stands for; also takes the function that composes a job."""
    comment: Callable[[Plan], list[str]] = lambda plan: []  # further lines of a printed plan
    share: Callable[[Sequence[Command]], list[list[str]]] = lambda commands: [[] for _ in commands]
    """Further overrides of each job of a sweep, which depend on the other jobs."""

    def read(self, values: dict[str, Any]) -> Command:
        """The typed form of composed values; an error names every invalid key."""
        return read_config(self.command, values)
