"""The lines about a sweep whose jobs write elsewhere."""

from __future__ import annotations

from pathlib import Path
from queue import Queue

import pytest

from elmo_bench.sweep.outcomes import KILLED, JobEnd, SweepStart, write_end
from elmo_bench.sweep.watching import watch

WAIT = 60.0  # seconds until a line counts as missing


def test_every_job_that_ends_is_said(tmp_path: Path) -> None:
    lines: Queue[str] = Queue()
    write_end(tmp_path / "0", JobEnd(["seed=1"], 0, ""))  # was done before
    with watch(SweepStart(3, 0.0), tmp_path, lines.put, seconds=0.01):
        assert lines.get(timeout=WAIT) == f"what the jobs print is in {tmp_path / '.submitit'}"
        write_end(tmp_path / "1", JobEnd(["seed=2"], 1, KILLED))  # started
        write_end(tmp_path / "2", JobEnd(["seed=3"], 0, ""))
        assert lines.get(timeout=WAIT) == "2 of 3 jobs ended"
        write_end(tmp_path / "1", JobEnd(["seed=2"], 1, "no such file"))
        assert lines.get(timeout=WAIT) == "3 of 3 jobs ended, 1 failed"
    assert lines.empty()


def test_nothing_is_said_after_an_error(tmp_path: Path) -> None:
    lines: list[str] = []
    with pytest.raises(OSError), watch(SweepStart(1, 0.0), tmp_path, lines.append, seconds=0.01):
        raise OSError
    write_end(tmp_path / "0", JobEnd(["seed=1"], 0, ""))
    assert len(lines) == 1
