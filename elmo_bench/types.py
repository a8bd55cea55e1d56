"""Types of all packages: token sequences, predictions, scores, and errors with an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE_NAME = r"^\w[\w.+ -]*$"
"""The pattern of a name that becomes part of a path: it leads to no other directory."""

Words = tuple[str, ...]
"""One tokenised sequence, as the encoder reads it."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A token sequence inside the text that an encoder reads: a sentence alone, or in its document."""

    text: Words  # all that is read together
    start: int
    stop: int

    @classmethod
    def whole(cls, words: Words) -> Excerpt:
        """A sequence that is read alone."""
        return cls(words, 0, len(words))

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def words(self) -> Words:
        """The sequence itself."""
        return self.text[self.start : self.stop]


Prediction = Any
"""The decoded output of a head for one example: a plain JSON-serialisable value."""

Counts = dict[str, float]
"""One row of numbers for one example; summed rows make a score."""

Scores = dict[str, float]
"""Named statistics of summed counts, in percent unless the name says otherwise."""


Log = Callable[[str], None]
"""A function that prints the progress of a long computation."""


def log_to_stderr(message: str) -> None:
    """Print a message to standard error; standard output is for results."""
    print(message, file=sys.stderr, flush=True)


LeaveOut = Callable[[str, int], None]
"""A function through which a reader reports what it leaves out of a split, and how many."""


def leave_out_silently(what: str, count: int) -> None:
    """Ignore what was left out."""


@dataclass(frozen=True)
class SplitFiles:
    """The files of one split of a corpus and how to read them; all that a task knows of a data source."""

    split: str  # train, dev or test
    format: str  # the name of a reader that the task supports
    paths: tuple[Path, ...]
    options: Mapping[str, Any] = field(default_factory=dict)  # further keys of the corpus entry
    leave_out: LeaveOut = leave_out_silently


class BenchError(Exception):
    """An error whose message names a remedy; subclasses define the exit code."""

    exit_code = 1


class DataError(BenchError):
    """The content of a file violates its format; the message starts with file:line."""


class DamagedFileError(BenchError):
    """A file of this project does not match its checksum and cannot be rebuilt automatically."""


class UsageError(BenchError):
    """The command or configuration names something that does not exist or does not fit."""

    exit_code = 2


class DataMissingError(BenchError):
    """A file that the configuration names does not exist."""

    exit_code = 3


class PackageMissingError(BenchError):
    """A package that one of the extras brings is not installed."""

    exit_code = 3


class BusyError(BenchError):
    """Another process holds the lock; the same command works when that process has ended."""


class InterruptedRunError(BaseException):
    """A stop signal arrived; the same command resumes where this one stopped.

    It is no `Exception`, because a library's `except Exception` would swallow the signal.
    """

    exit_code = 130
