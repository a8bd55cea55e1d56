"""The files of a store: shards that are either complete or absent, each with a checksum file.

One unit is one directory: `unit.json` describes its content, `00000.npy` is a flat array, and `00000.sha256`
is that file's checksum in the form `sha256sum -c` reads. A shard without a checksum is ignored.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmo_bench.files import immediate_lock, remove_leftovers, waiting_lock, write_atomically
from elmo_bench.hashing import hash_file, hash_value
from elmo_bench.types import BenchError, BusyError

FORMAT = 1
"""Increase it when the plan or the file format of a unit changes."""

Values = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class UnitFiles:
    """One directory of shards, made for one identity and one plan."""

    directory: Path
    identity: Mapping[str, Any]  # everything that decides the bytes
    about: Mapping[str, Any]  # for display: names and sizes
    sizes: Sequence[int]  # values per shard
    dtype: np.dtype[Any]

    @classmethod
    def below(
        cls, root: Path, identity: Mapping[str, Any], about: Mapping[str, Any], sizes: Sequence[int]
    ) -> UnitFiles:
        """The unit of an identity; the hash of the identity is the directory's name."""
        directory = root / hash_value(identity)[:24]
        return cls(directory, identity, about, sizes, np.dtype(identity["dtype"]))

    def faults(self, numbers: Sequence[int]) -> dict[int, str]:
        """The faults of the unusable shards, found by reading every byte."""
        reason = self._wrong_description()
        if reason:
            return dict.fromkeys(numbers, reason)
        with ThreadPoolExecutor() as pool:
            found = pool.map(self._fault, numbers)
            return {number: fault for number, fault in zip(numbers, found, strict=True) if fault}

    def begin(self) -> None:
        """Prepare the directory for writing; remove shards that have another description."""
        try:
            self.directory.mkdir(exist_ok=True)
        except OSError as error:
            raise _unwritable(self.directory, error) from error
        remove_leftovers(self.directory)
        if self._wrong_description():
            for path in [*self.directory.glob("*.sha256"), *self.directory.glob("*.npy")]:
                path.unlink(missing_ok=True)
        description = {"format": FORMAT, **self.identity, "about": self.about}
        _write(self.directory / "unit.json", json.dumps(description, indent=1).encode())

    def write(self, number: int, values: Values) -> None:
        """Write one shard, then its checksum."""
        path = self._path(number)
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(values))
        content = np.ascontiguousarray(values).data.cast("B")
        digest = hashlib.sha256(header.getvalue())
        digest.update(content)
        _write(path, header.getvalue(), content)
        _write(path.with_suffix(".sha256"), f"{digest.hexdigest()}  {path.name}\n".encode())

    def map(self, number: int) -> Values:
        """One shard as a memory-mapped array."""
        # Copy on write, because torch refuses read-only memory; this package never writes to it.
        values: Values = np.load(self._path(number), mmap_mode="c", allow_pickle=False)
        return values.view(np.ndarray)

    def _path(self, number: int) -> Path:
        return self.directory / f"{number:05d}.npy"

    def _wrong_description(self) -> str | None:
        path = self.directory / "unit.json"
        try:
            found = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return "unit.json is missing" if any(self.directory.glob("*.npy")) else "not there"
        except (OSError, ValueError):
            return "unit.json is damaged"
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            return "written by another version"
        differing = [key for key, value in self.identity.items() if found.get(key) != value]
        return f"made with a different {differing[0]}" if differing else None

    def _fault(self, number: int) -> str | None:
        path, checksum = self._path(number), self._path(number).with_suffix(".sha256")
        if not (path.exists() and checksum.exists()):
            return "without a checksum" if path.exists() else "missing" if checksum.exists() else "not there"
        try:
            recorded = checksum.read_text(errors="replace")
            if recorded != f"{hash_file(path)}  {path.name}\n":
                return "checksum differs"
            values = self.map(number)
        except (OSError, ValueError) as error:
            return f"cannot be read: {error}"
        fits = values.shape == (self.sizes[number],) and values.dtype == self.dtype
        return None if fits else "its shape is not the planned one"


def _write(path: Path, *parts: bytes | memoryview) -> None:
    try:
        write_atomically(path, *parts)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> BenchError:
    return BenchError(
        f"{path} could not be written ({error.strerror}); what is already in the store is intact. "
        f"Free some space, choose another directory with paths.cache=DIR, or run with store.mode=off"
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
    bytes: int
    complete: bool
    modified: float  # seconds since the epoch


def list_units(root: Path) -> list[UnitSummary]:
    """Every unit below a store's root, the oldest first; other directories are left out."""
    summaries = [_summary(path.parent) for path in root.glob("*/unit.json")]
    return sorted(summaries, key=lambda unit: (unit.modified, unit.directory))


def remove_unit(directory: Path) -> bool:
    """Delete a unit; return False if a process is filling it."""
    try:
        with immediate_lock(_lock_path(directory), f"{directory} is being filled by another process"):
            # The description is deleted last, so that an interrupted deletion can be repeated.
            for path in sorted(directory.iterdir(), key=lambda path: path.name == "unit.json"):
                path.unlink()
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
        found = json.loads(path.read_bytes())
        about, encoder = found["about"], found["encoder"]
        shown = (
            str(about["encoder"]),
            str(encoder),
            str(about["data"] or found["data"][:12]),
            found["dtype"],
        )
        shards = int(about["shards"])
    except (ValueError, KeyError, TypeError):
        shown, shards = ("(unreadable)", "", "", ""), -1
    files = [*directory.iterdir()]
    return UnitSummary(
        directory,
        *shown,
        bytes=sum(file.stat().st_size for file in files),
        complete=sum(file.suffix == ".sha256" for file in files) == shards,
        modified=path.stat().st_mtime,
    )
