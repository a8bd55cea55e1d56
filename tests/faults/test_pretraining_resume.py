"""Pre-training killed at any moment and started again ends with the very same model."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT

WORDS = [f"word{number}" for number in range(60)]
SETTINGS = ["bilm.steps=200", "bilm.curve_every=60", "trainer.checkpoint_seconds=0"]
STREAMS = ["bilm.batches.kind=streams", "bilm.batches.rows=8", "bilm.batches.window=5"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    chooser = random.Random(1)
    for name, count in (("train.txt", 400), ("heldout.txt", 40)):
        lines = [" ".join(chooser.choices(WORDS, k=chooser.randint(1, 12))) for _ in range(count)]
        (directory / name).write_text("\n".join(lines) + "\n")
    return directory


def command(corpus: Path, place: Path, *overrides: str) -> list[str]:
    return [
        sys.executable,
        str(PROJECT / "pretrain.py"),
        "bilm=tiny",
        f"corpus={corpus}",
        f"paths.models={place}/models",
        f"paths.runs={place}/runs",
        *SETTINGS,
        *overrides,
    ]


def run(corpus: Path, place: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(corpus, place, *overrides),
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def kill(corpus: Path, place: Path, number: signal.Signals, seconds: float, *overrides: str) -> int:
    """Start, wait for so long after the first checkpoint of this session, send the signal."""
    checkpoints = place / "runs" / "pretraining" / "tiny" / "checkpoints"
    before = set(checkpoints.glob("step-*.ckpt"))
    process = subprocess.Popen(
        command(corpus, place, *overrides),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 60
    while set(checkpoints.glob("step-*.ckpt")) <= before and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(seconds)
    process.send_signal(number)
    return process.wait(timeout=60)


def content(place: Path) -> dict[str, str]:
    """The hash of every file but the record, and of what the record says about numbers."""
    directory = place / "models" / "tiny"
    record = json.loads((directory / "record.json").read_text())
    assert record["finished"] and record["steps"] == 200
    for row in record["curve"]:
        del row["seconds"]
    numbers = {key: record[key] for key in ("curve", "heldout", "tokens", "hashes", "identity")}
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.iterdir()
        if path.name != "record.json"
    }
    return {**files, "numbers": json.dumps(numbers)}


@pytest.mark.parametrize("overrides", [[], STREAMS], ids=["sentences", "streams"])
def test_a_killed_run_ends_with_the_same_model(corpus: Path, tmp_path: Path, overrides: list[str]) -> None:
    whole = run(corpus, tmp_path / "whole", *overrides)
    assert whole.returncode == 0, whole.stderr
    assert kill(corpus, tmp_path / "killed", signal.SIGKILL, 0.2, *overrides) == -signal.SIGKILL
    assert kill(corpus, tmp_path / "killed", signal.SIGTERM, 0.0, *overrides) == 130
    resumed = run(corpus, tmp_path / "killed", *overrides)
    assert resumed.returncode == 0, resumed.stderr
    assert "going on from step-" in resumed.stdout
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    assert not (tmp_path / "killed" / "runs" / "pretraining" / "tiny").exists()


def test_a_limit_stops_for_now_and_the_same_command_goes_on(corpus: Path, tmp_path: Path) -> None:
    whole = run(corpus, tmp_path / "whole")
    limited = run(corpus, tmp_path / "limited", "limits.steps=17")
    assert limited.returncode == 0, limited.stderr
    record = json.loads((tmp_path / "limited" / "models" / "tiny" / "record.json").read_text())
    assert (record["finished"], record["steps"], record["planned_steps"]) == (False, 17, 200)
    assert run(corpus, tmp_path / "limited").returncode == whole.returncode == 0
    assert content(tmp_path / "limited") == content(tmp_path / "whole")
    again = run(corpus, tmp_path / "limited")
    assert "already trained" in again.stdout and again.returncode == 0


def test_other_settings_are_refused_rather_than_mixed(corpus: Path, tmp_path: Path) -> None:
    assert run(corpus, tmp_path, "limits.steps=3").returncode == 0
    other = run(corpus, tmp_path, "bilm.descent.lr=0.1")
    assert other.returncode == 2
    assert "choose another name" in other.stderr and "Traceback" not in other.stderr


def test_the_tiny_settings_are_a_configuration() -> None:
    """The command above relies on them."""
    assert yaml.safe_load((PROJECT / "conf" / "bilm" / "tiny.yaml").read_text())["name"] == "tiny"
