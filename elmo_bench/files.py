"""Atomic writing of files and directories (complete or absent), and locks between processes.

Every write goes to a temporary file in the target's directory, which is renamed once it is on the disk. A
write that fails keeps the old content and removes its temporary file; only a killed process leaves one. Its
name is `.<name of the target>-<8 hexadecimal digits>.tmp`. A writer holds a shared lock of the directory,
which the system releases when the process ends, however it ends. Whoever gets the directory's exclusive lock
therefore knows that every temporary file in it is a leftover: the next write removes them.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import BaseFileLock, FileLock, Timeout

from elmo_bench.hashing import hash_file_once
from elmo_bench.types import BenchError, BusyError, Log

CHECKSUMS = "SHA256SUMS"
"""The checksums of a directory's files, in the form that `sha256sum -c` reads."""

_AGAIN = "run the same command again to resume"
_OTHER_PLACE = "choose another place with paths.runs=DIR, paths.cache=DIR or the path that was refused"
REMEDIES = {
    errno.ENOSPC: f"free some space, or {_OTHER_PLACE}; then {_AGAIN}",
    errno.EDQUOT: f"free some space, or {_OTHER_PLACE}; then {_AGAIN}",
    errno.EFBIG: f"raise the limit of the size of files (ulimit -f); then {_AGAIN}",
    errno.EROFS: _OTHER_PLACE,
    errno.EACCES: f"change its permissions, or {_OTHER_PLACE}",
    errno.ENOTDIR: f"a file stands where a directory is needed; {_OTHER_PLACE}",
}
DIGEST_BYTES = hashlib.sha256().digest_size

_TEMPORARY = re.compile(r"\.(?P<target>.+)-[0-9a-f]{8}\.tmp", re.DOTALL)
_CHECKSUM = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>.+)")


def write_atomically(path: Path, *parts: bytes | memoryview) -> None:
    """Write a complete file, or keep the old one."""
    with atomic_file(path) as file:
        for part in parts:
            file.write(part)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to; it replaces `path` when the block ends without an error."""
    with atomic_path(path) as temporary, temporary.open("xb") as file:
        yield file


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A free name for a library to write to; the file replaces `path` if the block ends without an error."""
    temporary = _temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _writing_in(path.parent):
            yield temporary
            move_into_place(temporary, path)
    except OSError as error:
        if error.filename is None or temporary.name in str(error.filename):  # otherwise it names another file
            raise name_file(error, path) from error
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_kept(path: Path, content: bytes) -> None:
    """Keep a result of the cache in a file that begins with the hash of its content."""
    if os.path.lexists(path) and not is_plain_file(path):
        remove(path)
    write_atomically(path, hashlib.sha256(content).digest(), content)


def read_kept(path: Path) -> bytes | None:
    """What `write_kept` wrote; None, to compute it again, if it is absent, damaged or unreadable."""
    if not is_plain_file(path):
        return None
    try:
        kept = path.read_bytes()
    except OSError:
        return None
    digest, content = kept[:DIGEST_BYTES], kept[DIGEST_BYTES:]
    return content if digest == hashlib.sha256(content).digest() else None


@contextmanager
def atomic_directory(target: Path) -> Iterator[Path]:
    """An empty directory to fill; with checksums it replaces `target` if the block ends without an error."""
    temporary = _temporary(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _writing_in(target.parent):
            temporary.mkdir()
            yield temporary
            _write_checksums(temporary)
            remove(target)
            temporary.replace(target)
            _sync_directory(target.parent)
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(str(temporary)):
            raise name_file(error, target) from error
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def scratch_directory(parent: Path, name: str) -> Iterator[Path]:
    """A directory for a while. If the process is killed, the next write in `parent` removes it."""
    parent.mkdir(parents=True, exist_ok=True)
    directory = _temporary(parent / name)
    with _writing_in(parent):
        try:
            directory.mkdir()
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def make_once(target: Path, make: Callable[[Path], None], log: Log) -> Path:
    """Fill a directory once, even if several processes request it; a damaged one is made again."""
    if find_damage(target) is None:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with waiting_lock(target.with_name(f".{target.name}.lock"), f"{target.name} is being made", log):
        damage = find_damage(target)  # another process may have made it in the meantime
        if damage is not None:
            if os.path.lexists(target):
                log(f"{target}: {damage}; making it again")
            remove_leftovers(target.parent, target.name)
            with atomic_directory(target) as directory:
                make(directory)
    return target


def find_damage(directory: Path) -> str | None:
    """The damage of a directory that `atomic_directory` made; None if every file matches its checksum."""
    if not directory.is_dir():
        return "not a directory" if os.path.lexists(directory) else "not there"
    checksums = directory / CHECKSUMS
    if os.path.lexists(checksums) and not is_plain_file(checksums):
        return f"{CHECKSUMS} is not a plain file"
    try:
        *lines, rest = checksums.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return f"{CHECKSUMS} is missing"
    except (OSError, UnicodeDecodeError):
        return f"{CHECKSUMS} is damaged"
    unlisted = {path.relative_to(directory).as_posix() for path in _visible_files(directory)} - {CHECKSUMS}
    for line in [*lines, rest] if rest else lines:
        entry = _CHECKSUM.fullmatch(line)
        if entry is None:
            return f"{CHECKSUMS} is damaged"
        reason = _file_damage(directory / entry["name"], entry["digest"])
        if reason:
            return f"{entry['name']} {reason}"
        unlisted.discard(entry["name"])
    return f"{min(unlisted)} is not listed in {CHECKSUMS}" if unlisted else None


def remove_leftovers(directory: Path, name: str | None = None) -> None:
    """Delete temporary files of killed processes, for one target or for all targets in a directory.

    The caller holds the lock under which these targets are written, so no temporary file is still in use.
    """
    if not directory.is_dir():
        return
    for path in directory.iterdir():
        match = _TEMPORARY.fullmatch(path.name)
        if match and name in (None, match["target"]):
            remove(path)


def remove_dead(directory: Path) -> None:
    """Delete the temporary files of a directory, unless a process is writing in it."""
    with suppress(OSError):  # the directory is absent or read-only, or somebody writes, or has no such locks
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_leftovers(directory)
        finally:
            os.close(descriptor)


def is_plain_file(path: Path) -> bool:
    """Whether this path is a file itself: no link, no directory, no device, no pipe."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def remove(path: Path) -> None:
    """Delete this path: a file, a link (not its target) or a whole directory; it may be absent."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def move_into_place(temporary: Path, path: Path) -> None:
    """Rename a complete file to its final name, after its content has reached the disk."""
    _sync(temporary)
    temporary.replace(path)
    _sync_directory(path.parent)


def name_file(error: OSError, path: Path) -> OSError:
    """The same error with the user's file name instead of none or a temporary one."""
    reason = error.strerror or str(error).partition("\n")[0]
    return OSError(error.errno or errno.EIO, reason, str(path))


def describe_os_error(error: OSError) -> str:
    """What the system refused, for which file, and what to do."""
    reason = (error.strerror or str(error)).lower()
    where = f"{error.filename}: " if error.filename else ""
    remedy = REMEDIES.get(error.errno or 0)
    return f"{where}{reason}{f'; {remedy}' if remedy else ''}"


def nearest_directory(path: Path) -> Path:
    """The nearest existing directory above a path, or the path itself."""
    return next(folder for folder in (path, *path.absolute().parents) if folder.exists())


@contextmanager
def waiting_lock(path: Path, what: str, log: Log) -> Iterator[None]:
    """Hold a lock; if another process has it, log that and wait. `what` reads "<something> is being made"."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = try_lock(path)
    if lock is None:
        log(f"waiting: {what} by another process")
        lock = FileLock(path)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def immediate_lock(path: Path, message: str, error: type[BenchError] = BusyError) -> Iterator[None]:
    """Hold a lock; if another process has it, fail with the message."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = try_lock(path)
    if lock is None:
        raise error(message)
    try:
        yield
    finally:
        lock.release()


def try_lock(path: Path) -> BaseFileLock | None:
    """Acquire a lock until it is released or this process ends; None if another process holds it."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def remove_free_lock(path: Path) -> None:
    """Delete the file of a lock that nobody holds.

    It is deleted while this process holds the lock. A process that opened the file before and gets the lock
    afterwards sees that the file has no name any more, and begins again with a new one (`filelock` looks at
    the number of links). So two processes never hold two files of one name.
    """
    lock = try_lock(path) if is_plain_file(path) else None
    if lock is not None:
        try:
            path.unlink(missing_ok=True)
        finally:
            lock.release()


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}-{secrets.token_hex(4)}.tmp")


@contextmanager
def _writing_in(directory: Path) -> Iterator[None]:
    """Protect the temporary files that are written in a directory, after removing those of dead processes."""
    remove_dead(directory)
    with ExitStack() as stack:
        with suppress(OSError):  # a directory that cannot be read, or a file system without such locks
            descriptor = os.open(directory, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


def _sync(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_directory(path: Path) -> None:
    """The same for a directory's entries, if the file system supports it; files are complete in any case."""
    with suppress(OSError):
        _sync(path)


def _write_checksums(directory: Path) -> None:
    files = sorted(_visible_files(directory))
    lines = [f"{hash_file_once(path)}  {path.relative_to(directory).as_posix()}\n" for path in files]
    (directory / CHECKSUMS).write_text("".join(lines), encoding="utf-8", newline="\n")
    for path in [*files, directory / CHECKSUMS]:
        _sync(path)
    for path in {path.parent for path in files} | {directory}:
        _sync_directory(path)


def _visible_files(directory: Path) -> Iterator[Path]:
    """Every file except hidden ones, which desktops and network file systems add."""
    return (path for path in directory.rglob("[!.]*") if path.is_file())


def _file_damage(path: Path, digest: str) -> str | None:
    """A link or a device instead of a file counts as damage, because its content may change unnoticed."""
    try:
        if os.path.lexists(path) and not is_plain_file(path):
            return "is not a plain file"
        return None if hash_file_once(path) == digest else "differs from its checksum"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
