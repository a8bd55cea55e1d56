"""A sweep: planned, killed half-way, gone on with, and never stopped by one job."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from elmo_bench.sweep.scripts import launch_runs
from tests.support.caches import copy_cache
from tests.support.processes import finish, places, start

SWEEP = (
    "-m",
    "+experiment=table1",
    "task=ner",
    "elmo=none",
    "limit=12",
    "task.training.epochs=1",
    "seed=1,2,3",
)
FAILING = "task.settings.head.word_dropout=0.3,7"  # every other job


@pytest.fixture(scope="module")
def root(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_cache(world, tmp_path_factory.mktemp("sweep"))


@pytest.fixture
def launch(root: Path) -> Callable[..., int]:
    """What run.py answers with, where it starts no run: in this process, as importing takes longest."""
    return lambda *arguments: launch_runs("", [*arguments, *places(root)])


def results(root: Path) -> list[Path]:
    return sorted((root / "runs").glob("ner/*/result.json"))


def test_a_plan_starts_nothing(
    root: Path, launch: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert launch(*SWEEP, FAILING, "plan=true") == 0
    output, _ = capfd.readouterr()
    assert "missing, time unknown  seed=1 task.settings.head.word_dropout=0.3" in output
    assert "cannot run             seed=3 task.settings.head.word_dropout=7" in output
    assert "6 runs: 0 done, 3 missing, 3 cannot run" in output
    assert "time unknown, because no similar run is recorded yet: 3 of ner" in output
    assert not (root / "runs").exists()


def test_a_killed_sweep_goes_on_with_what_is_missing(root: Path) -> None:
    process = start(*SWEEP, FAILING, *places(root))
    while not results(root):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate()
    done = {path: path.stat().st_mtime_ns for path in results(root)}
    assert 1 <= len(done) < 3

    code, output, errors = finish(*SWEEP, FAILING, *places(root))
    assert code == 1
    assert f"6 runs: {len(done)} done, {3 - len(done)} missing, 3 cannot run" in output
    assert "hours in sequence" in output  # the killed sweep's records say how long it takes
    assert "3 of 6 jobs done" in output
    assert output.count("failed: ") == 3
    assert output.count("    task.settings.head.word_dropout: input should be less than 1, got 7") == 3
    assert errors.count("error: task.settings.head.word_dropout") == 3
    assert len(results(root)) == 3
    assert {path: path.stat().st_mtime_ns for path in done} == done  # nothing ran twice


def test_a_sweep_that_is_done_only_says_so(
    launch: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert launch(*SWEEP, "elmo.lambda=0,1") == 0
    output, _ = capfd.readouterr()
    assert "3 runs: 3 done, 0 missing, 3 duplicate(s) dropped" in output
    assert "epoch" not in output
    assert "3 of 3 jobs done" in output


def test_an_experiment_is_a_sweep(launch: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    assert launch("+experiment=table1") == 2
    assert capfd.readouterr().err == "error: an experiment is a sweep: add -m\n"
