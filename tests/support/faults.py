"""Faults of the operating system at one chosen file operation of a process.

An audit hook sees every operation that Python asks the system for, except `fsync`, which is wrapped. It
counts them by kind, and at the n-th of a kind it lets the fault happen before the operation does. Writes into
a file that is open already are reached through the limit of the size of files, which the system enforces.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Effect = Literal["kill", "kill while writing", "full disk", "file size"]
KINDS = {  # by the name of the audit event
    "os.rename": "rename",
    "os.remove": "unlink",
    "os.mkdir": "mkdir",
    "os.rmdir": "rmdir",
    "os.link": "link",
    "os.symlink": "link",
    "os.truncate": "truncate",
    "mmap.__new__": "map",
    "fcntl.flock": "lock",
    "fcntl.lockf": "lock",
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
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
    """Counts the operations of this process below a directory, and lets a fault happen."""

    def __init__(self, root: Path, fault: Fault | None) -> None:
        self.root = root
        self.fault = fault
        self.counts: Counter[str] = Counter()
        self.is_busy = False

    def install(self) -> None:
        """For the rest of this process: a hook cannot be removed."""
        sync = os.fsync

        def fsync(descriptor: Any) -> None:
            self.meet("fsync")
            sync(descriptor)

        os.fsync = fsync
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        kind = self.kind_of(event, arguments)
        if kind:
            self.meet(kind)

    def kind_of(self, event: str, arguments: tuple[Any, ...]) -> str | None:
        """The kind of an operation below the directory; None of any other event."""
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & WRITING
            return "open" if writes and self.is_inside(path) else None
        kind = KINDS.get(event)
        if kind in ("map", "lock", None) or self.is_inside(arguments[0]):
            return kind
        return None

    def is_inside(self, path: Any) -> bool:
        """Whether a path is below the directory; `rmtree` gives names relative to an open directory."""
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        name = os.fsdecode(path)
        return not name.startswith(os.sep) or name.startswith(f"{self.root}{os.sep}")

    def meet(self, kind: str) -> None:
        if self.is_busy:  # the fault itself writes
            return
        self.is_busy = True
        number = self.counts[kind]
        self.counts[kind] += 1
        if self.fault and (self.fault.kind, self.fault.number) == (kind, number):
            self.fault.strike(self.root)
        self.is_busy = False
