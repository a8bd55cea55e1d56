"""What the jobs of a command line are: runs, answers about neighbours, fine-tunings, pre-trainings."""

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
    """One primary file of `conf`, its typed form, and what is done with it."""

    primary: str  # the name of the file
    command: type[Command]
    run: Callable[[Command, Sequence[str]], Path]  # with the words of a single job; answers with its record
    locate: Callable[[Command], Target]  # computes nothing
    comment: Callable[[Plan], list[str]] = lambda plan: []  # further lines of a printed plan

    def read(self, values: dict[str, Any]) -> Command:
        """The typed form of composed values; every key that is wrong is named."""
        return read_config(self.command, values)
