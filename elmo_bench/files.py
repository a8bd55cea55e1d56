"""Files and directories that are either whole or not there, whoever else is at work."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from elmo_bench.types import Say


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file whole, or leave what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise OSError(error.errno, f"{path} could not be written: {error.strerror}") from error


def make_once(target: Path, make: Callable[[Path], None], say: Say) -> Path:
    """Fill a directory exactly once, however many processes ask for it and whenever they are killed."""
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with waiting_lock(target.with_name(f".{target.name}.lock"), f"{target.name} is being made", say):
        if not target.is_dir():
            partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
            try:
                make(partial)
                partial.chmod(0o755)  # mkdtemp makes it private
                partial.replace(target)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return target


def nearest_directory(place: Path) -> Path:
    """The nearest directory above a place that is there, or the place itself."""
    return next(folder for folder in (place, *place.absolute().parents) if folder.exists())


@contextmanager
def waiting_lock(path: Path, what: str, say: Say) -> Iterator[None]:
    """A file lock that says so when another process holds it."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0.1)
    except Timeout:
        say(f"waiting: {what} by another process")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
