"""Servers of trackers that never answer, refuse, talk nonsense or die: a run has nothing to do with that."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from elmo_bench.config import TrackingConfig
from elmo_bench.runs import tracking
from elmo_bench.runs.tracking import RunLabel, SafeTracker, TrackingError, WandbTracker, join_sweep
from tests.support.damage import Damage, become_dangling, empty
from tests.support.servers import FAILURES, TrackerServer, tracker_server

IMPATIENT = 1.5  # seconds; less than a server may take in earnest
CONFIG = TrackingConfig.model_validate({"kind": "wandb", "project": "tests", "group": None, "tags": []})


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, and no sweep."""
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_API_KEY", "0123456789" * 4)
    monkeypatch.setattr(tracking, "_shared_directory", None)


def use(server: TrackerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_BASE_URL", server.address)


def track(directory: Path, said: list[str]) -> WandbTracker:
    """A tracker that has been told all but the end."""
    directory.mkdir()
    tracker = WandbTracker(CONFIG, directory, said.append)
    tracker.start(RunLabel("of-the-test", "group", ("tag",)), {"seed": 17})
    tracker.log({"dev": 12.5})
    return tracker


def offline_log(directory: Path) -> bytes:
    (log,) = directory.glob("wandb/offline-run-*/run-*.wandb")
    return log.read_bytes()


def assert_whole(directory: Path) -> None:
    """The offline log has the beginning, the middle and the end."""
    log = offline_log(directory)
    assert all(text in log for text in (b"of-the-test", b"12.5", b"test/score"))


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_server_costs_seconds_and_loses_nothing(
    failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "SERVER_SECONDS", IMPATIENT)
    said: list[str] = []
    with tracker_server(failure) as server:
        use(server, monkeypatch)
        tracker = track(tmp_path / "run", said)
        tracker.finish({"test/score": 90.0})
        assert server.requests
    assert_whole(tmp_path / "run")
    (warning,) = said
    assert warning.startswith("warning: W&B failed (")
    assert f"wandb sync {tmp_path / 'run' / 'wandb'}/offline-run-*" in warning


def test_a_server_that_answers_is_told_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with tracker_server() as server:
        use(server, monkeypatch)
        track(tmp_path / "run", said).finish({"test/score": 90.0})
        told = "\n".join(server.requests)
    assert said == []
    assert all(text in told for text in ("of-the-test", "12.5", "test/score", '"exitcode":0'))


@pytest.mark.parametrize("failure", ["hangs", pytest.param("500", marks=pytest.mark.slow)])
def test_a_server_that_dies_in_the_middle_does_not_hold_the_end_up(
    failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with tracker_server() as server:
        use(server, monkeypatch)
        tracker = track(tmp_path / "run", said)
        wait_for_request(server, "of-the-test")
        server.failure = failure
        tracker.finish({"test/score": 90.0})
    assert_whole(tmp_path / "run")
    assert len(said) == 1


def test_a_sweep_pays_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "SERVER_SECONDS", IMPATIENT)
    join_sweep(tmp_path)
    said: list[str] = []
    with tracker_server("500") as server:
        use(server, monkeypatch)
        track(tmp_path / "first", said).finish({"test/score": 90.0})
        requests = len(server.requests)
        track(tmp_path / "second", said).finish({"test/score": 90.0})
        assert len(server.requests) == requests
    assert_whole(tmp_path / "second")
    assert said[1:] == ["W&B did not answer an earlier run of this sweep; this run is tracked offline"]


def test_an_interrupted_run_leaves_no_process_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "SERVER_SECONDS", IMPATIENT)
    with tracker_server("hangs") as server:
        use(server, monkeypatch)
        tracker = track(tmp_path / "run", [])
        process = tracker._process
        assert process and process.stdout
        wait_for_request(server, "")
        before = time.monotonic()
        tracker.close()
        assert time.monotonic() - before < IMPATIENT  # the run does not wait for it
        process.wait(timeout=30)
        process.stdout.close()
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory for temporary files, with a short name: W&B opens sockets there."""
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setattr(tempfile, "tempdir", directory)
        yield Path(directory)


@pytest.mark.parametrize("end", ["finished", "killed", "interrupted"])
def test_no_temporary_file_of_the_tracker_is_left(
    end: str, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    tracker = track(tmp_path / "run", [])
    process = tracker._process
    assert process and process.stdout
    while not list(temporary.glob("*/*")):
        assert process.poll() is None
        time.sleep(0.05)
    if end == "finished":
        tracker.finish({"test/score": 90.0})
    elif end == "killed":
        process.kill()
        process.wait()
        with pytest.raises(TrackingError, match="its process ended with -9"):
            tracker.finish({"test/score": 90.0})
    else:
        tracker.close()
        process.wait(timeout=30)
        process.stdout.close()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("damage", [empty, become_dangling])
def test_what_stands_in_the_place_of_the_directory_costs_only_the_tracking(
    damage: Damage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    (tmp_path / "wandb").touch()
    damage(tmp_path / "wandb")
    said: list[str] = []
    tracker = SafeTracker(WandbTracker(CONFIG, tmp_path, said.append), said.append)
    tracker.start(RunLabel("of-the-test", "group", ("tag",)), {"seed": 17})
    tracker.log({"dev": 12.5})
    tracker.finish({"test/score": 90.0})
    (warning,) = said
    assert warning.startswith("warning: tracking failed and is off for this run: ")
    assert f"{tmp_path}/wandb" in warning


def wait_for_request(server: TrackerServer, text: str) -> None:
    deadline = time.monotonic() + 30
    while not any(text in request for request in list(server.requests)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
