"""The words every room uses: token sequences, predictions, scores, and errors with an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Words = tuple[str, ...]
"""One tokenised sequence, as the encoder reads it."""

Prediction = Any
"""What a head decodes for one example: plain JSON-serialisable Python."""

Counts = dict[str, float]
"""One row of numbers for one example; summed rows make a score."""

Scores = dict[str, float]
"""Named statistics of summed counts, in percent unless the name says otherwise."""


Say = Callable[[str], None]
"""Where a long piece of work tells a person what it is doing."""


def say_on_stderr(message: str) -> None:
    """Tell the person at the terminal, leaving standard output to results."""
    print(message, file=sys.stderr, flush=True)


LeaveOut = Callable[[str, int], None]
"""Where a reader says what it leaves out of a split, and how many of it."""


def leave_out_unsaid(what: str, count: int) -> None:
    """For those who do not ask what was left out."""


@dataclass(frozen=True)
class SplitFiles:
    """Where one split of a corpus lies and how to read it; tasks see nothing else of a data source."""

    split: str  # train, dev or test
    format: str  # the name of a reader the task knows
    paths: tuple[Path, ...]
    options: Mapping[str, Any] = field(default_factory=dict)  # further keys of the corpus entry
    leave_out: LeaveOut = leave_out_unsaid


class BenchError(Exception):
    """A failure with a message a person can act on; subclasses carry the exit code."""

    exit_code = 1


class DataError(BenchError):
    """The content of a file is not what its format promises; the message starts with file:line."""


class DamagedFileError(BenchError):
    """A file this project wrote does not match its checksum and cannot be rebuilt here."""


class UsageError(BenchError):
    """The command or configuration asks for something that does not exist or does not fit."""

    exit_code = 2


class DataMissingError(BenchError):
    """A file that the configuration names is not there."""

    exit_code = 3


class BusyError(BenchError):
    """Another process holds the lock; the same command works when that process has ended."""


class InterruptedRunError(BenchError):
    """The run was asked to stop; its checkpoint is written and the same command goes on from it."""

    exit_code = 130
