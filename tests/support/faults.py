"""Faults of the operating system at one chosen file operation of a process.

An audit hook sees every operation that Python asks the system for, except `fsync`, which is wrapped. It
notes them in their order, and at the n-th of a kind it lets the fault happen before the operation does.
Writes into a file that is open already, and those of libraries, are reached through the limit of the size of
files, which the system enforces.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import stat
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Effect = Literal["kill", "kill while writing", "full disk", "file size"]
KINDS = {  # by the name of the audit event: the operation, and which of its arguments is what it changes
    "os.rename": ("rename", 1),
    "os.remove": ("unlink", 0),
    "os.mkdir": ("mkdir", 0),
    "os.rmdir": ("rmdir", 0),
    "os.link": ("link", 1),
    "os.symlink": ("link", 1),
    "os.truncate": ("truncate", 0),
    "mmap.__new__": ("map", 0),
    "fcntl.flock": ("lock", 0),
    "fcntl.lockf": ("lock", 0),
}
DIRECTORY_AT = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 2}  # the argument that a relative name is below
READ = "read"  # noted, but no place for a fault
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
TEMPORARY = re.compile(r"\.(.+)-[0-9a-f]{8}\.tmp", re.DOTALL)
FILLER = "filler"
BLOCK = 1 << 16


@dataclass(frozen=True)
class Fault:
    """What happens at the n-th operation of a kind; the first is number 0."""

    effect: Effect
    kind: str
    number: int
    size: int = 0  # bytes that may still be written to a file, for "kill while writing"

    def __str__(self) -> str:
        more = f" after {self.size} bytes" if self.effect == "kill while writing" else ""
        return f"{self.effect} at {self.kind} {self.number}{more}"

    @classmethod
    def read(cls, text: str) -> Fault:
        """What `str` wrote."""
        found = re.fullmatch(r"(.+) at (\w+) (\d+)(?: after (\d+) bytes)?", text)
        assert found, text
        return cls(found[1], found[2], int(found[3]), int(found[4] or 0))  # type: ignore[arg-type]

    def strike(self, root: Path) -> None:
        """Let it happen, in this process."""
        if self.effect == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.effect == "kill while writing":
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the system ends the process, as SIGKILL does
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, resource.RLIM_INFINITY))
        elif self.effect == "file size":
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        else:
            fill_disk(root.with_name(FILLER))


@dataclass(frozen=True)
class Operation:
    """One file operation of an undisturbed process; a directory's path ends with a slash."""

    kind: str
    path: str  # below the root, the final name of what is still temporary; empty outside of the root


def fault_at(operations: Sequence[Operation], place: int, effect: Effect, size: int = 0) -> Fault:
    """The fault that strikes at one of the noted operations."""
    kind = operations[place].kind
    return Fault(effect, kind, sum(one.kind == kind for one in operations[:place]), size)


def fill_disk(path: Path) -> None:
    """Write a file until the device is full."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    for size in (BLOCK, 512, 1):
        try:
            while True:
                os.write(descriptor, bytes(size))
        except OSError:
            continue
    os.close(descriptor)


class Observer:
    """Notes the operations of this process below a directory, and lets a fault happen."""

    def __init__(self, root: Path, fault: Fault | None) -> None:
        self.root = root
        self.fault = fault
        self.operations: list[Operation] = []
        self.counts: Counter[str] = Counter()
        self.is_busy = False

    def install(self) -> None:
        """For the rest of this process: a hook cannot be removed."""
        sync = os.fsync

        def fsync(descriptor: Any) -> None:
            self.meet("fsync", path_of(descriptor))
            sync(descriptor)

        os.fsync = fsync
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and self.is_inside(path):
                self.meet("open" if flags & WRITING else READ, os.fsdecode(path))
        elif event in KINDS:
            kind, place = KINDS[event]
            changed = arguments[place]
            if kind in ("map", "lock") or isinstance(changed, int):
                self.meet(kind, path_of(changed))
            elif self.is_inside(changed):
                above = arguments[DIRECTORY_AT[event]] if event in DIRECTORY_AT else -1
                path = str(Path(path_of(above)) / os.fsdecode(changed))
                self.meet(kind, f"{path}/" if kind == "rename" and is_directory(arguments[0]) else path)

    def is_inside(self, path: Any) -> bool:
        """Whether a path is below the directory; `rmtree` gives names relative to an open directory."""
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        name = os.fsdecode(path)
        return not name.startswith(os.sep) or name.startswith(f"{self.root}{os.sep}")

    def meet(self, kind: str, path: str) -> None:
        if self.is_busy:  # the fault itself writes
            return
        self.is_busy = True
        number = self.counts[kind]
        self.counts[kind] += 1
        if self.fault is None:
            self.operations.append(Operation(kind, self.name(path)))
        elif (self.fault.kind, self.fault.number) == (kind, number):
            self.fault.strike(self.root)
        self.is_busy = False

    def name(self, path: str) -> str:
        """The path below the root; for temporary files and directories that of what they become."""
        if not path.startswith(f"{self.root}{os.sep}"):
            return ""
        parts = Path(path).relative_to(self.root).parts
        name = "/".join(TEMPORARY.sub(r"\1", part) for part in parts)
        return f"{name}/" if path.endswith("/") or is_directory(path) else name


def path_of(descriptor: Any) -> str:
    """The path of an open file; nothing for what is none."""
    number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
    try:
        return str(Path(f"/proc/self/fd/{number}").readlink()) if number >= 0 else ""
    except OSError:
        return ""


def is_directory(path: Any) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
