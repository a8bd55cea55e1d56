"""A reader that has gone, or a full device: a run goes on, a command that only prints ends as Git does."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from elmo_bench.output import name_output, outlive_output
from tests.support.caches import copy_cache
from tests.support.processes import places, start_python

FULL = Path("/dev/full")
RUN = ("task=ner", "elmo=none", "limit=12", "task.training.epochs=1", "trainer.threads=1")

needs_full_device = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@contextmanager
def broken_pipe() -> Iterator[int]:
    """A pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@contextmanager
def full_device() -> Iterator[int]:
    descriptor = os.open(FULL, os.O_WRONLY)
    yield descriptor
    os.close(descriptor)


OUTPUTS = [broken_pipe, pytest.param(full_device, marks=needs_full_device)]


@pytest.mark.parametrize("output", OUTPUTS)
def test_work_goes_on_without_its_output(
    output: type, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with output() as descriptor, open(descriptor, "w", closefd=False) as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with outlive_output():
            for _ in range(3):
                print("progress", flush=True)
        assert sys.stdout is stream
        stream.flush()  # nothing of it can fail at the end of the process
    errors = capfd.readouterr().err
    assert errors.count("warning: standard output cannot be written (") == 1
    assert errors.endswith("; the work goes on without it\n")


@pytest.mark.parametrize("name", ["stdout", "stderr"])
@pytest.mark.parametrize("block", [name_output, outlive_output])
def test_what_the_encoding_lacks_is_escaped(
    name: str,
    block: Callable[[], AbstractContextManager[None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (tmp_path / "said").open("w", encoding="ascii", errors="strict") as stream:
        monkeypatch.setattr(sys, name, stream)
        with block():
            print("Zoë – said", file=getattr(sys, name))
    assert (tmp_path / "said").read_text(encoding="ascii") == "Zo\\u00eb \\u2013 said\n"


def test_streams_that_are_closed_or_no_files_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", text := io.StringIO())
    with outlive_output():
        assert sys.stdout is None
        print("said", file=sys.stderr)
    assert text.getvalue() == "said\n"


@pytest.mark.parametrize(
    "output", [broken_pipe, pytest.param(full_device, marks=[needs_full_device, pytest.mark.slow])]
)
def test_a_run_without_output_has_its_result(output: type, world: Path, tmp_path: Path) -> None:
    copy_cache(world, tmp_path)
    with output() as descriptor:
        process = start_python(*RUN, *places(tmp_path), output=descriptor)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert len(list((tmp_path / "runs").glob("ner/*/result.json"))) == 1


def test_a_printing_command_ends_silently_when_its_reader_has_gone() -> None:
    with broken_pipe() as descriptor:
        process = start_python("elmo_bench", "tasks", script="-m", output=descriptor)
        _, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (141, "")


@needs_full_device
@pytest.mark.parametrize("words", [("run.py", *RUN, "plan=true"), ("-m", "elmo_bench", "tasks")])
def test_a_printing_command_says_that_its_device_is_full(
    words: tuple[str, ...], world: Path, tmp_path: Path
) -> None:
    copy_cache(world, tmp_path)
    with full_device() as descriptor:
        more = places(tmp_path) if words[0] == "run.py" else []
        process = start_python(*words[1:], *more, script=words[0], output=descriptor)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert errors.startswith("error: standard output: no space left on device")
