"""The outcome of a run, and how to recognise a finished run without importing PyTorch."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from elmo_bench.config import RunConfig
from elmo_bench.files import remove_dead
from elmo_bench.records import RUN_RECORD, Record, read_record
from elmo_bench.runs.preparation import foresee
from elmo_bench.types import Log

CHECKPOINTS = "checkpoints"  # of a run that is not finished


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run: its record, its directory, and whether it was done before."""

    status: Literal["done", "already done"]
    record: Record
    directory: Path


def find_outcome(config: RunConfig, log: Log) -> Outcome | None:
    """The outcome of a run that is done already; None if it is to be executed.

    A record is written last and never changed, so reading it needs no lock.
    """
    if config.force:
        return None
    directory = foresee(config, log)
    result = directory / RUN_RECORD
    if not is_taken(result):
        return None
    tidy(directory)
    return Outcome("already done", read_record(result), directory)


def is_taken(result: Path) -> bool:
    """Whether anything stands in the place of a run's record.

    A link to nowhere does, too: the run was finished, and reading its record names the damage.
    """
    return os.path.lexists(result)


def tidy(directory: Path) -> None:
    """Remove what a process that was killed right after the record left in the directory of its run."""
    shutil.rmtree(directory / CHECKPOINTS, ignore_errors=True)
    remove_dead(directory)
