"""The files of a store: shards that are either complete or absent, each with a checksum file.

One unit is one directory: `unit.json` describes its content, `00000-layer2.npy` has one row for every token
of shard 0, and `00000-layer2.sha256` is that file's checksum in the form `sha256sum -c` reads. A file without
a checksum is ignored. Each layer has its own files, so that a run fills, verifies and reads only its layers.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elmo_bench.files import (
    immediate_lock,
    is_plain_file,
    remove,
    remove_leftovers,
    waiting_lock,
    write_atomically,
)
from elmo_bench.hashing import hash_file, hash_value
from elmo_bench.types import BenchError, BusyError

FORMAT = 2
"""Increase it when the plan or the file format of a unit changes."""

STORE = "store"  # the directory of all units, below paths.cache
UNIT = re.compile(r"[0-9a-f]{24}")  # the names of units
CHECKSUM = re.compile(r"\d+-layer(\d+)\.sha256")
ABSENT = "not there"  # a fault that needs no remark: the file is still to be made


Rows = NDArray[np.void]
"""One structured value per token."""


class Part(NamedTuple):
    """One file of a unit: the rows of one layer for the sentences of one shard."""

    shard: int
    layer: int

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return f"{self.shard:05d}-layer{self.layer}"


@dataclass(frozen=True)
class UnitFiles:
    """One directory of files, made for one identity and one plan."""

    directory: Path
    identity: Mapping[str, Any]  # everything that decides the bytes
    about: Mapping[str, Any]  # for display: names and sizes
    tokens: Sequence[int]  # of each shard
    dtypes: Sequence[np.dtype[np.void]]  # of the rows of each layer

    @classmethod
    def below(
        cls,
        root: Path,
        identity: Mapping[str, Any],
        about: Mapping[str, Any],
        tokens: Sequence[int],
        dtypes: Sequence[np.dtype[np.void]],
    ) -> UnitFiles:
        """The unit of an identity; the hash of the identity is the directory's name."""
        return cls(root / hash_value(identity)[:24], identity, about, tokens, dtypes)

    def faults(self, parts: Iterable[Part]) -> dict[Part, str]:
        """The faults of the unusable files, found by reading every byte."""
        parts, reason = list(parts), self.wrong_description()
        if reason:
            return dict.fromkeys(parts, reason)
        with ThreadPoolExecutor() as pool:
            found = pool.map(self._fault, parts)
            return {part: fault for part, fault in zip(parts, found, strict=True) if fault}

    def begin(self) -> None:
        """Prepare the directory for writing; remove files that have another description."""
        try:
            if not self.directory.is_dir():
                remove(self.directory)  # a file or a link to nowhere
            self.directory.mkdir(exist_ok=True)
        except OSError as error:
            raise _unwritable(self.directory, error) from error
        remove_leftovers(self.directory)
        if self.wrong_description():
            for path in [*self.directory.glob("*.sha256"), *self.directory.glob("*.npy")]:
                remove(path)
        description = {"format": FORMAT, **self.identity, "about": self.about}
        _write(self.directory / "unit.json", json.dumps(description, indent=1).encode())

    def write(self, part: Part, rows: Rows) -> None:
        """Write one file, then its checksum."""
        path = self.path(part)
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(rows))
        content = np.ascontiguousarray(rows).view(np.uint8).data
        digest = hashlib.sha256(header.getvalue())
        digest.update(content)
        _write(path, header.getvalue(), content)
        _write(path.with_suffix(".sha256"), f"{digest.hexdigest()}  {path.name}\n".encode())

    def path(self, part: Part) -> Path:
        """Where a file of the unit lies."""
        return self.directory / f"{part.name}.npy"

    def wrong_description(self) -> str | None:
        """Why no file of the directory may be used; None if the directory is this unit."""
        path = self.directory / "unit.json"
        if is_in_the_way(path):
            return "unit.json is damaged"
        try:
            found = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return "unit.json is missing" if any(self.directory.glob("*.npy")) else ABSENT
        except (OSError, ValueError):
            return "unit.json is damaged"
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            return "written by another version"
        differing = [key for key, value in self.identity.items() if found.get(key) != value]
        return f"made with a different {differing[0]}" if differing else None

    def _fault(self, part: Part) -> str | None:
        path, checksum = self.path(part), self.path(part).with_suffix(".sha256")
        if is_in_the_way(path) or is_in_the_way(checksum):
            return "not a plain file"
        if not (path.exists() and checksum.exists()):
            return "without a checksum" if path.exists() else "missing" if checksum.exists() else ABSENT
        try:
            recorded = checksum.read_text(errors="replace")
            if recorded != f"{hash_file(path)}  {path.name}\n":
                return "checksum differs"
            with path.open("rb") as file:
                np.lib.format.read_magic(file)
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
                content = os.fstat(file.fileno()).st_size - file.tell()
        except (OSError, ValueError) as error:
            return f"cannot be read: {error}"
        tokens, planned = self.tokens[part.shard], self.dtypes[part.layer]
        fits = shape == (tokens,) and dtype == planned and content == tokens * planned.itemsize
        return None if fits else "its shape is not the planned one"


def is_in_the_way(path: Path) -> bool:
    """Whether there is something else in the place of a file: a directory, a link or a pipe."""
    return os.path.lexists(path) and not is_plain_file(path)


def _write(path: Path, *parts: bytes | memoryview) -> None:
    try:
        if is_in_the_way(path):
            remove(path)
        write_atomically(path, *parts)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> BenchError:
    return BenchError(
        f"{path} could not be written ({error.strerror}); what is already in the store is intact. "
        "Free some space, choose another directory with paths.cache=DIR, or run with store.mode=off"
    )


@contextmanager
def locked(directory: Path, log: Callable[[str], None]) -> Iterator[None]:
    """Hold the write lock of a unit; print a line while another process holds it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(waiting_lock(_lock_path(directory), f"{directory} is being filled", log))
        except OSError as error:
            raise _unwritable(directory, error) from error
        yield


def _lock_path(directory: Path) -> Path:
    """The lock is next to the directory, so that deleting a unit never deletes a lock that is in use."""
    return directory.with_name(directory.name + ".lock")


@dataclass(frozen=True)
class UnitSummary:
    """The properties of one unit that `store list` shows."""

    directory: Path
    encoder: str
    fingerprint: str
    data: str
    dtype: str
    layers: tuple[int, ...]
    bytes: int
    state: Literal["complete", "incomplete", "outdated"]  # outdated: of another version, no run reads it
    modified: float  # seconds since the epoch


def list_units(root: Path) -> list[UnitSummary]:
    """Every unit below a store's root, the oldest first; other directories are left out."""
    summaries = [_summary(path) for path in root.glob("*") if UNIT.fullmatch(path.name) and path.is_dir()]
    return sorted(summaries, key=lambda unit: (unit.modified, unit.directory))


def remove_unit(directory: Path) -> bool:
    """Delete a unit; return False if a process is filling it."""
    try:
        with immediate_lock(_lock_path(directory), f"{directory} is being filled by another process"):
            # The description is deleted last, so that an interrupted deletion can be repeated.
            for path in sorted(directory.iterdir(), key=lambda path: path.name == "unit.json"):
                remove(path)
            directory.rmdir()
    except BusyError:
        return False
    return True


def in_units(size: int) -> str:
    """A number of bytes in a readable unit."""
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def _summary(directory: Path) -> UnitSummary:
    path = directory / "unit.json"
    try:
        found = {} if is_in_the_way(path) else json.loads(path.read_bytes())
        about, encoder = found["about"], found["encoder"]
        shown = (
            str(about["encoder"]),
            str(encoder),
            str(about["data"] or found["data"][:12]),
            found["dtype"],
        )
        shards, is_current = int(about["shards"]), found["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        shown, shards, is_current = ("(unreadable)", "", "", ""), -1, True
    files = [*directory.iterdir()]
    checked = Counter(int(match[1]) for file in files if (match := CHECKSUM.fullmatch(file.name)))
    is_whole = all(count == shards for count in checked.values()) and (bool(checked) or not shards)
    return UnitSummary(
        directory,
        *shown,
        layers=tuple(sorted(checked)),
        bytes=sum(file.lstat().st_size for file in files),
        state="outdated" if not is_current else "complete" if is_whole else "incomplete",
        modified=directory.stat().st_mtime,
    )
