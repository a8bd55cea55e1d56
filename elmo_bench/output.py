"""Standard output and standard error whose reader has gone, or whose device is full.

Work goes on without them (`outlive_output`). A command that only prints ends with an error that names the
stream (`name_output`). A progress bar is sparse where the stream is a file.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

SECONDS_BETWEEN_BARS = 30.0  # in a log file, where every bar stays
ESCAPE = "elmo_bench.json"  # the name under which Python finds `_escape`
TITLES = {"stdout": "standard output", "stderr": "standard error"}


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Characters as JSON spells them in ASCII, so that a line of JSON stays one."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(ESCAPE, _escape)


class _NamedFile(io.FileIO):
    """An open file; the error of the first write that fails names it, and whatever follows is dropped."""

    def __init__(self, descriptor: int, title: str) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.title = title

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as error:
            _drop(self.fileno())
            raise OSError(error.errno, error.strerror, self.title) from error


class _EnduringFile(_NamedFile):
    """An open file that drops what it cannot write, after a warning on the other stream."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as error:
            if self.title != TITLES["stderr"]:
                reason = f"{self.title} cannot be written ({error.strerror})"
                print(f"warning: {reason}; the work goes on without it", file=sys.stderr, flush=True)
            return len(content)


@contextmanager
def name_output() -> Iterator[None]:
    """Within this block, an error of a standard stream has the name of the stream in place of a file's."""
    with _replaced(_NamedFile):
        yield


@contextmanager
def outlive_output() -> Iterator[None]:
    """Within this block, what cannot be printed is dropped."""
    with _replaced(_EnduringFile):
        yield


@contextmanager
def _replaced(kind: type[_NamedFile]) -> Iterator[None]:
    with ExitStack() as stack:
        for name in TITLES:
            stack.enter_context(_replaced_stream(name, kind))
        yield


@contextmanager
def _replaced_stream(name: str, kind: type[_NamedFile]) -> Iterator[None]:
    earlier: TextIO | None = getattr(sys, name)
    if earlier is None or not _is_file(earlier):  # closed by the shell, or a caller's own
        yield
        return
    earlier.flush()
    stream = io.TextIOWrapper(
        io.BufferedWriter(kind(earlier.fileno(), TITLES[name])),
        encoding=earlier.encoding,
        errors=ESCAPE,  # what the encoding lacks, ASCII for one, is escaped, and the work goes on
        line_buffering=getattr(earlier, "line_buffering", True),
    )
    setattr(sys, name, stream)
    try:
        yield
    finally:
        setattr(sys, name, earlier)
        stream.flush()


def _is_file(stream: TextIO) -> bool:
    try:
        stream.fileno()
    except (OSError, ValueError):
        return False
    return True


def _drop(descriptor: int) -> None:
    """Let everything that is written to a file from now on vanish."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def progress_bar(total: int, unit: str, title: str = "", **settings: Any) -> Any:
    """How much is done of something long: in place on a terminal, rarely elsewhere."""
    from tqdm import tqdm  # of no use to commands that are done at once

    if not sys.stderr.isatty():
        settings |= {"mininterval": SECONDS_BETWEEN_BARS, "maxinterval": SECONDS_BETWEEN_BARS}
    return tqdm(total=total, unit=f" {unit}", desc=title or None, unit_scale=True, **settings)
