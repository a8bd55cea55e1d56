"""Two processes that want the same run: one executes it, the other waits for it or does other work first."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from elmo_bench.runs import execution
from elmo_bench.sweep.plan import Target
from elmo_bench.sweep.runs import locate_run
from elmo_bench.sweep.scripts import launch_runs
from elmo_bench.types import BenchError, BusyError
from tests.support.caches import copy_cache
from tests.support.composition import run_config
from tests.support.processes import places, start

RUN = ("task=ner", "elmo=none", "limit=12", "task.training.epochs=1", "trainer.threads=1")


@pytest.fixture
def root(world: Path, tmp_path: Path) -> Path:
    return copy_cache(world, tmp_path)


def find_run(root: Path, seed: int) -> Target:
    """The run that a job of this seed executes."""
    return locate_run(run_config(*RUN, f"seed={seed}", root=root))


def test_a_sweep_does_its_other_jobs_and_comes_back(root: Path) -> None:
    first, second = find_run(root, 1), find_run(root, 2)
    assert first.lock
    first.lock.parent.mkdir(parents=True)
    with FileLock(first.lock):
        process = start("-m", *RUN, "seed=1,2", *places(root))
        while not second.record.exists():
            assert process.poll() is None
            time.sleep(0.05)
        assert not first.record.exists()
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert errors == ""
    assert first.record.exists()
    later = f"{first.record.parent}: another process is executing this run; this job comes again after the"
    assert later in output
    assert "2 of 2 jobs done" in output


def test_two_sweeps_do_everything_once(root: Path) -> None:
    processes = [start("-m", *RUN, "seed=1,2,3", *places(root)) for _ in range(2)]
    told = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], told
    assert all("3 of 3 jobs done" in output for output, _ in told)
    assert sum(output.count("  loss ") for output, _ in told) == 3


def test_a_single_run_waits(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ends = iter([BusyError("another process is executing this run"), BenchError("it was its turn")])

    def run_job(*_: Any) -> None:
        raise next(ends)

    monkeypatch.setattr(execution, "run_job", run_job)
    assert launch_runs("", [*RUN, *places(root)]) == 1
    assert capfd.readouterr().err == "error: it was its turn\n"
