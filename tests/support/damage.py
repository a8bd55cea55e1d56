"""Every way in which a file can be damaged: by a disk, by a careless program, by a stranger."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], object]


def flip(path: Path) -> None:
    """One bit in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def flip_and_hide(path: Path) -> None:
    """Keep the size and the time of modification."""
    before = path.stat()
    flip(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def delete(path: Path) -> None:
    path.unlink()


def become_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "stranger").touch()


def become_link(path: Path) -> None:
    """The content is somewhere else, where anybody may change it."""
    elsewhere = path.with_name(f".elsewhere-{path.name}")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def become_dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def become_pipe(path: Path) -> None:
    """Whoever opens it waits for a writer."""
    path.unlink()
    os.mkfifo(path)


CONTENT: tuple[Damage, ...] = (flip, flip_and_hide, truncate, empty)
DAMAGE: tuple[Damage, ...] = (
    *CONTENT,
    delete,
    become_directory,
    become_link,
    become_dangling,
    become_pipe,
)
