"""Writing is all or nothing: whichever step fails, the old content stays and no temporary is left."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import stat
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from elmo_bench import files
from elmo_bench.files import (
    CHECKSUMS,
    atomic_directory,
    atomic_file,
    atomic_path,
    find_damage,
    immediate_lock,
    make_once,
    move_into_place,
    remove_dead,
    remove_free_lock,
    remove_leftovers,
    scratch_directory,
    try_lock,
    waiting_lock,
    write_atomically,
)
from elmo_bench.types import BusyError
from tests.support.damage import CONTENT, DAMAGE


def by_bytes(path: Path) -> None:
    write_atomically(path, b"new ", b"content")


def by_stream(path: Path) -> None:
    with atomic_file(path) as file:
        file.write(b"new ")
        file.write(b"content")


def by_library(path: Path) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"new content")


WRITERS = [by_bytes, by_stream, by_library]
Writer = Callable[[Path], None]


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def fail(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def kill(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(action: Callable[[], object]) -> int | None:
    child = multiprocessing.get_context("fork").Process(target=action)
    child.start()
    child.join(timeout=60)
    return child.exitcode


@pytest.mark.parametrize("write", WRITERS)
def test_writes_new_files_and_replaces_old_ones(tmp_path: Path, write: Writer) -> None:
    path = tmp_path / "new folder" / "a file"
    for _ in range(2):
        write(path)
        assert path.read_bytes() == b"new content"
        assert names(path.parent) == ["a file"]
        path.write_bytes(b"something longer than the new content")


@pytest.mark.parametrize("write", WRITERS)
def test_a_file_has_the_permissions_that_the_umask_gives(tmp_path: Path, write: Writer) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("write", WRITERS)
def test_a_step_that_fails_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Writer, step: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write(path)
    assert caught.value.filename == str(path)  # not the temporary name
    assert path.read_bytes() == b"old" and names(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError()])
def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(type(error)) as caught, atomic_file(path) as file:
        file.write(b"half")
        raise error
    assert not isinstance(error, OSError) or caught.value.filename == str(path)  # type: ignore[attr-defined]
    assert path.read_bytes() == b"old" and names(tmp_path) == ["file"]


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_file(tmp_path / "file"):
        (tmp_path / "source").read_bytes()
    assert caught.value.filename == str(tmp_path / "source") and not names(tmp_path)


def test_an_error_of_a_library_without_a_reason_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="unable to lock") as caught, atomic_path(tmp_path / "file"):
        raise OSError("unable to lock\nand many details")
    assert caught.value.filename == str(tmp_path / "file") and "details" not in str(caught.value)


def test_a_directory_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory") as caught:
        write_atomically(tmp_path / "file", b"new")
    assert caught.value.filename == str(tmp_path / "file") and names(tmp_path) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_killed_write_leaves_the_old_content_and_a_recognisable_leftover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file-1"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, step, kill)
    assert in_child(lambda: by_bytes(path)) == -signal.SIGKILL
    assert path.read_bytes() == b"old" and len(names(tmp_path)) == 2
    others = {"file-1-0123abcd.tmp", ".file-0123abcd.tmp", ".file-1.tmp", ".file-1-extra-0123abcd.tmp"}
    for other in others:
        (tmp_path / other).touch()
    remove_leftovers(tmp_path, "file-1")
    assert set(names(tmp_path)) == {"file-1", *others}
    remove_leftovers(tmp_path)
    assert set(names(tmp_path)) == {"file-1", "file-1-0123abcd.tmp", ".file-1.tmp"}


@pytest.mark.parametrize("write", WRITERS)
def test_what_a_killed_process_leaves_is_removed_by_the_next_write_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Writer
) -> None:
    for victim in (lambda: write(tmp_path / "one"), lambda: make_once(tmp_path / "two", make, pytest.fail)):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", kill)
            assert in_child(victim) == -signal.SIGKILL
    assert any(name.endswith(".tmp") for name in names(tmp_path))
    write(tmp_path / "three")
    assert set(names(tmp_path)) == {"three", ".two.lock"}  # the lock is free, and stays as after any making


def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    ready, end = fork.Event(), fork.Event()

    def write_slowly() -> None:
        with atomic_file(tmp_path / "slow") as file:
            file.write(b"content")
            ready.set()
            end.wait(timeout=30)

    child = fork.Process(target=write_slowly)
    child.start()
    assert ready.wait(timeout=30)
    by_bytes(tmp_path / "quick")
    remove_dead(tmp_path)
    assert len(names(tmp_path)) == 2
    end.set()
    child.join(timeout=30)
    assert child.exitcode == 0 and set(names(tmp_path)) == {"slow", "quick"}


def test_the_content_is_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    for name in ("fsync", "replace"):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, call=call: (steps.append(name), call(*a))[1])
    (tmp_path / "written").write_bytes(b"content")
    move_into_place(tmp_path / "written", tmp_path / "final")
    write_atomically(tmp_path / "file", b"content")
    assert steps == ["fsync", "replace", "fsync"] * 2  # the last one is the directory's


# Directories.


def make(directory: Path) -> None:
    (directory / "part").mkdir()
    (directory / "part" / "one.txt").write_text("one")
    (directory / "two.txt").write_text("two")


def content(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != CHECKSUMS
    }


MADE = {"part/one.txt": b"one", "two.txt": b"two"}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return make_once(tmp_path / "cache" / "made", make, lambda message: None)


def never(_: Path) -> None:
    raise AssertionError("made again without need")


def test_a_directory_is_made_once_with_checksums_that_sha256sum_reads(made: Path) -> None:
    assert content(made) == MADE
    assert make_once(made, never, pytest.fail) == made
    subprocess.run(["sha256sum", "--check", "--strict", CHECKSUMS], cwd=made, check=True, capture_output=True)
    (made / ".DS_Store").touch()  # what a desktop leaves is no damage
    assert find_damage(made) is None


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["part/one.txt", "two.txt", CHECKSUMS])
def test_a_damaged_directory_is_made_again_and_says_so(
    made: Path, damage: Callable[[Path], None], name: str
) -> None:
    damage(made / name)
    said: list[str] = []
    make_once(made, make, said.append)
    assert content(made) == MADE and find_damage(made) is None
    (message,) = said
    assert message.startswith(f"{made}: ") and message.endswith("; making it again")
    assert name in message or damage in CONTENT  # damaged checksums may accuse a sound file


@pytest.mark.parametrize("kind", ["file", "link", "without checksums", "a further file", "part of the list"])
def test_other_damage_to_the_directory_itself(made: Path, kind: str) -> None:
    if kind == "without checksums":
        (made / CHECKSUMS).unlink()
    elif kind == "a further file":
        (made / "part" / "three.txt").touch()
    elif kind == "part of the list":
        checksums = (made / CHECKSUMS).read_text().splitlines(keepends=True)
        (made / CHECKSUMS).write_text(checksums[0])
    else:
        shutil.rmtree(made)
        made.touch() if kind == "file" else made.symlink_to("nowhere")
    said: list[str] = []
    make_once(made, make, said.append)
    assert content(made) == MADE and len(said) == 1 and "making it again" in said[0]


def test_a_link_in_the_place_of_the_directory_is_removed_and_not_followed(made: Path) -> None:
    precious = made.parent / "precious"
    precious.mkdir()
    (precious / "work").write_text("of years")
    shutil.rmtree(made)
    made.symlink_to(precious)
    make_once(made, make, lambda message: None)
    assert content(made) == MADE and not made.is_symlink()
    assert (precious / "work").read_text() == "of years"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_directory_that_cannot_be_written_is_named_and_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(OSError, match="No space left on device") as caught:
            make_once(tmp_path / "made", make, pytest.fail)
    assert caught.value.filename == str(tmp_path / "made")
    assert names(tmp_path) in ([".made.lock"], [])
    make_once(tmp_path / "made", make, pytest.fail)


@pytest.mark.parametrize("error", [OSError(28, "No space"), KeyboardInterrupt(), ValueError()])
def test_a_directory_whose_making_fails_keeps_the_old_one(made: Path, error: BaseException) -> None:
    with pytest.raises(type(error)), atomic_directory(made) as directory:
        (directory / "half").touch()
        raise error
    assert content(made) == MADE and find_damage(made) is None
    assert set(names(made.parent)) <= {"made", ".made.lock"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_killed_making_is_cleaned_up_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    target = tmp_path / "made"
    with monkeypatch.context() as patch:
        patch.setattr(os, step, kill)
        assert in_child(lambda: make_once(target, make, pytest.fail)) == -signal.SIGKILL
    assert not target.exists() and any(name.endswith(".tmp") for name in names(tmp_path))
    make_once(target, make, pytest.fail)
    assert content(target) == MADE and set(names(tmp_path)) <= {"made", ".made.lock"}


def test_many_processes_make_a_directory_once(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def make_and_log(directory: Path) -> None:
        make(directory)
        with log.open("a") as file:
            file.write("made\n")

    fork = multiprocessing.get_context("fork")
    children = [
        fork.Process(target=make_once, args=(tmp_path / "made", make_and_log, lambda message: None))
        for _ in range(4)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(timeout=60)
    assert [child.exitcode for child in children] == [0] * 4
    assert log.read_text() == "made\n" and content(tmp_path / "made") == MADE


# Locks.


@pytest.fixture
def held(tmp_path: Path) -> Any:
    """A lock that another process holds until its event is set."""
    fork = multiprocessing.get_context("fork")
    ready, end = fork.Event(), fork.Event()

    def hold() -> None:
        with immediate_lock(tmp_path / "a.lock", "unexpected"):
            ready.set()
            end.wait(timeout=30)

    child = fork.Process(target=hold)
    child.start()
    assert ready.wait(timeout=30)
    yield tmp_path / "a.lock", end
    end.set()
    child.join(timeout=30)


def test_a_free_lock_is_taken_without_a_word(tmp_path: Path) -> None:
    for _ in range(2):
        with waiting_lock(tmp_path / "folder" / "a.lock", "it is being made", pytest.fail):
            assert try_lock(tmp_path / "folder" / "a.lock") is None
        with immediate_lock(tmp_path / "folder" / "a.lock", "busy"):
            assert try_lock(tmp_path / "folder" / "a.lock") is None


def test_a_lock_that_is_held_is_waited_for_with_a_message(held: Any) -> None:
    path, end = held
    said: list[str] = []

    def log(message: str) -> None:
        said.append(message)
        end.set()  # the other process ends only once the message is there

    with waiting_lock(path, "it is being made", log):
        assert said == ["waiting: it is being made by another process"]


def test_a_lock_that_is_held_fails_at_once_with_the_message(held: Any) -> None:
    with pytest.raises(BusyError, match="somebody is at it"), immediate_lock(held[0], "somebody is at it"):
        pytest.fail("both have the lock")
    assert try_lock(held[0]) is None


def test_a_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    def hold_and_die() -> None:
        with immediate_lock(tmp_path / "a.lock", "unexpected"):
            kill()

    assert in_child(hold_and_die) == -signal.SIGKILL
    with immediate_lock(tmp_path / "a.lock", "still held"):
        pass


def test_only_a_free_lock_is_removed(held: Any) -> None:
    path, end = held
    remove_free_lock(path)
    assert path.exists()  # another process holds it
    end.set()
    with waiting_lock(path, "the other process ends", lambda message: None):
        pass
    remove_free_lock(path)
    assert not path.exists()


def test_a_lock_whose_file_is_removed_is_not_held_twice(tmp_path: Path) -> None:
    """The race of all lock files: a process waits for a file that is deleted while it waits."""
    path, got, end = tmp_path / "a.lock", threading.Event(), threading.Event()

    def wait() -> None:
        with waiting_lock(path, "it is being cleaned", waiting.set_result):
            got.set()
            end.wait(timeout=30)

    waiting: Future[str] = Future()
    cleaning = try_lock(path)
    assert cleaning
    process = threading.Thread(target=wait)
    process.start()
    waiting.result(timeout=30)
    path.unlink()
    cleaning.release()
    assert got.wait(timeout=30)
    assert path.exists() and try_lock(path) is None
    end.set()
    process.join()


def test_a_lock_is_released_after_an_error(tmp_path: Path) -> None:
    for lock in (
        waiting_lock(tmp_path / "a.lock", "it is being made", pytest.fail),
        immediate_lock(tmp_path / "a.lock", "busy"),
    ):
        with pytest.raises(ValueError, match="body"), lock:
            raise ValueError("body")
    kept = files.try_lock(tmp_path / "a.lock")
    assert kept is not None
    kept.release()


def test_a_scratch_directory_is_gone_at_the_end_and_that_of_a_killed_process_with_the_next_write(
    tmp_path: Path,
) -> None:
    with scratch_directory(tmp_path, "scale") as scratch:
        (scratch / "text").touch()
        remove_dead(tmp_path)
        assert (scratch / "text").exists()
    assert names(tmp_path) == []
    left = tmp_path / ".scale-01234567.tmp"
    left.mkdir()
    (left / "text").touch()
    write_atomically(tmp_path / "new", b"content")
    assert names(tmp_path) == ["new"]
