"""Pre-training killed at any moment and started again ends with the very same model."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.types import UsageError
from tests.support.composition import pretrain_one, pretraining
from tests.support.processes import finish, start

WORDS = [f"word{number}" for number in range(60)]
STEPS = 120
SETTINGS = ["bilm=tiny", f"bilm.steps={STEPS}", "bilm.curve_every=40", "bilm.curve_tokens=100"]
STREAMS = ["bilm.batches.kind=streams", "bilm.batches.rows=8", "bilm.batches.window=5"]
ALWAYS = "trainer.checkpoint_seconds=0"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    chooser = random.Random(1)
    for name, count in (("train.txt", 400), ("heldout.txt", 20)):
        lines = [" ".join(chooser.choices(WORDS, k=chooser.randint(1, 12))) for _ in range(count)]
        (directory / name).write_text("\n".join(lines) + "\n")
    return directory


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command gives that nobody stops."""
    place = tmp_path_factory.mktemp("whole")
    places = [f"paths.{name}={place / name}" for name in ("models", "runs", "cache")]
    code, _, errors = finish(
        *SETTINGS, f"corpus={corpus}", "trainer.threads=1", *places, script="pretrain.py"
    )
    assert code == 0, errors
    return place


def values(corpus: Path, place: Path, *overrides: str) -> dict[str, Any]:
    return pretraining(place, *SETTINGS, f"corpus={corpus}", *overrides)


def stop(number: signal.Signals, seconds: float, corpus: Path, place: Path, overrides: Sequence[str]) -> int:
    """Start, wait for so long after the first checkpoint of this session, send the signal."""
    checkpoints = place / "runs" / "pretraining" / "tiny" / "checkpoints"
    before = set(checkpoints.glob("step-*.ckpt"))
    places = [f"paths.{name}={place / name}" for name in ("models", "runs", "cache")]
    words = [*SETTINGS, f"corpus={corpus}", "trainer.threads=1", ALWAYS, *places, *overrides]
    process = start(*words, script="pretrain.py")
    deadline = time.monotonic() + 60
    while set(checkpoints.glob("step-*.ckpt")) <= before and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(seconds)
    process.send_signal(number)
    process.communicate()
    return process.returncode


def content(place: Path) -> dict[str, str]:
    """The hash of every file but the record, and of what the record says about numbers."""
    directory = place / "models" / "tiny"
    record = json.loads((directory / "record.json").read_text())
    assert record["finished"] and record["steps"] == STEPS
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
def test_a_killed_run_ends_with_the_same_model(
    corpus: Path,
    whole: Path,
    tmp_path: Path,
    overrides: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    if overrides:
        whole = tmp_path / "whole"
        pretrain_one(values(corpus, whole, *overrides))
    killed = tmp_path / "killed"
    assert stop(signal.SIGKILL, 0.1, corpus, killed, overrides) == -signal.SIGKILL
    assert stop(signal.SIGTERM, 0.0, corpus, killed, overrides) == 130
    capsys.readouterr()
    pretrain_one(values(corpus, killed, *overrides))
    assert "resuming from step-" in capsys.readouterr().out
    assert content(killed) == content(whole)
    assert not (killed / "runs" / "pretraining" / "tiny").exists()


def test_a_limit_stops_for_now_and_the_same_command_goes_on(
    corpus: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pretrain_one(values(corpus, tmp_path, "limits.steps=17"))
    record = json.loads((tmp_path / "models" / "tiny" / "record.json").read_text())
    assert (record["finished"], record["steps"], record["planned_steps"]) == (False, 17, STEPS)
    pretrain_one(values(corpus, tmp_path))
    assert content(tmp_path) == content(whole)
    capsys.readouterr()
    pretrain_one(values(corpus, tmp_path))
    assert "already trained" in capsys.readouterr().out


def test_other_settings_are_refused_rather_than_mixed(corpus: Path, tmp_path: Path) -> None:
    pretrain_one(values(corpus, tmp_path, "limits.steps=3"))
    with pytest.raises(UsageError, match="choose another name"):
        pretrain_one(values(corpus, tmp_path, "bilm.descent.lr=0.1"))
