"""SIGTERM and Ctrl-C end the process within seconds with exit code 130, whatever it is doing."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from elmo_bench.runs import execution
from elmo_bench.sweep import multirun
from elmo_bench.sweep.scripts import launch_runs
from elmo_bench.training.stopping import SIGNALS, stop_on_signals
from elmo_bench.types import BenchError, InterruptedRunError
from elmo_bench.world import WORLD_VERSION
from tests.support.caches import copy_cache
from tests.support.processes import Command, finish, places, start
from tests.support.servers import tracker_server

SECONDS = 10  # "within seconds", on a machine with other work
RUN = ("task=ner", "elmo=none", "limit=12", "trainer.threads=1")
ENDLESS = ("task.training.epochs=100000", "task.training.patience=100000")


@pytest.fixture(scope="module")
def root(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_cache(world, tmp_path_factory.mktemp("signals"))


def stop(process: Command, number: signal.Signals) -> tuple[str, str]:
    """Send the signal to a running process; what it printed until it ended in time."""
    assert process.poll() is None
    process.send_signal(number)
    return process.communicate(timeout=SECONDS)


@pytest.mark.parametrize("number", SIGNALS)
def test_no_handler_of_exceptions_swallows_a_signal(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(InterruptedRunError, match=f"stopped by {number.name}"), stop_on_signals():
        try:
            signal.raise_signal(number)
        except Exception:
            pytest.fail("a library would go on")
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_while_a_lock_is_waited_for(root: Path, number: signal.Signals) -> None:
    cache = root / f"cache-{number.name}"
    (cache / "world").mkdir(parents=True)
    with FileLock(cache / "world" / f".v{WORLD_VERSION}.lock"):
        process = start(*RUN, *places(root, cache=cache))
        process.wait_for_output(f"waiting: v{WORLD_VERSION} is being made by another process\n")
        _, errors = stop(process, number)
    assert process.returncode == 130
    assert errors == f"error: stopped by {number.name}; run the same command again to resume\n"


def test_while_a_tracker_logs_in(root: Path) -> None:
    with tracker_server("hangs") as server:
        account = {"WANDB_BASE_URL": server.address, "WANDB_API_KEY": "0123456789" * 4}
        process = start(*RUN, *ENDLESS, "tracking=wandb", *places(root), **account)
        while not server.requests:
            assert process.poll() is None
            time.sleep(0.05)
        _, errors = stop(process, signal.SIGTERM)
    assert process.returncode == 130
    assert "stopped by SIGTERM; run the same command again to resume" in errors
    assert list((root / "runs").glob("ner/*/checkpoints/step-*.ckpt"))


def test_between_two_jobs_of_a_sweep(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    started = []

    def run_job(*_: Any) -> None:
        started.append("a run")
        raise BenchError("this run fails")

    def write_end(directory: Path, end: multirun.JobEnd) -> None:
        original(directory, end)
        if end.error == "this run fails":
            os.kill(os.getpid(), signal.SIGTERM)

    original = multirun.write_end
    monkeypatch.setattr(execution, "run_job", run_job)
    monkeypatch.setattr(multirun, "write_end", write_end)
    before = signal.getsignal(signal.SIGTERM)
    assert launch_runs("", ["-m", *RUN, "seed=1,2,3", *places(root)]) == 130
    assert len(started) == 1
    assert signal.getsignal(signal.SIGTERM) is before
    assert "0 of 1 jobs done" in capfd.readouterr().out


@pytest.mark.slow
def test_a_parallel_sweep_ends_with_its_processes(root: Path) -> None:
    words = ("-m", *RUN, *ENDLESS, "seed=11,12,13", "hydra/launcher=parallel")
    process = start(*words, *places(root))
    while len(list((root / "runs").glob("ner/*-s1[12]/checkpoints"))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    output, _ = stop(process, signal.SIGTERM)
    assert process.returncode == 130
    assert "jobs done" in output
    for seed in (11, 12):  # nobody holds the runs any more
        code, output, errors = finish(*RUN, f"seed={seed}", "task.training.epochs=1", *places(root))
        assert code == 0, errors
        assert "waiting" not in output
