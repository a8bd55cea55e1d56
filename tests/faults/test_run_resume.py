"""A run killed at any moment and started again ends bit for bit as one that never stopped."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path

import pytest

from elmo_bench.hashing import hash_file
from tests.support.caches import copy_cache
from tests.support.damage import become_dangling
from tests.support.processes import Command, finish, places, start

RUN = (
    "task=ner",
    "encoder=untrained",
    "size=ner_sample",
    "limit=24",
    "task.training.batch_size=4",
    "task.training.epochs=5",
    "task.training.patience=9",
    "task.training.evaluate_every=4",  # so that epochs end between two evaluations
    "trainer.checkpoint_seconds=0",  # a state to go on from after every step
    "trainer.threads=1",
)
STEPS = 28  # 24 examples in batches of 4, up to five times, in rounds of four updates


@pytest.fixture(scope="module")
def root(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the world and the store are shared by all runs of this file."""
    return copy_cache(world, tmp_path_factory.mktemp("resume"))


@pytest.fixture(scope="module")
def uninterrupted(root: Path) -> dict[str, object]:
    code, output, errors = finish(*RUN, *places(root))
    assert code == 0, errors
    assert "gamma" in output
    result = what_a_run_leaves(root / "runs")
    (root / "runs").rename(root / "runs-uninterrupted")
    return result


def what_a_run_leaves(runs: Path) -> dict[str, object]:
    """Everything of a finished run that may not depend on how it got there."""
    (directory,) = [path.parent for path in runs.glob("ner/*/result.json")]
    record = json.loads((directory / "result.json").read_text())
    files = ("head.safetensors", "predictions-dev.jsonl", "predictions-test.jsonl", "counts.npz")
    hashes = {name: hash_file(directory / name) for name in files}
    assert not (directory / "checkpoints").exists()
    return {**hashes, **{key: record[key] for key in ("scores", "curve", "best_epoch", "learnt")}}


def wait_for_step(runs: Path, step: int, process: Command) -> None:
    """Return as soon as a checkpoint of that step or a later one is there."""
    while process.poll() is None:
        for path in runs.glob("ner/*/checkpoints/step-*.ckpt"):
            if int(path.name.split("-")[1]) >= step:
                return
        time.sleep(0.005)
    raise AssertionError(f"ended before step {step}: {process.communicate()}")


def test_kill_9_at_several_moments(root: Path, uninterrupted: dict[str, object]) -> None:
    for step in (3, 13, 24):  # within a round, early in an epoch, where both end
        process = start(*RUN, *places(root))
        wait_for_step(root / "runs", step, process)
        process.kill()
        process.communicate()
        assert not list((root / "runs").glob("ner/*/result.json"))
    code, output, errors = finish(*RUN, *places(root))
    assert code == 0, errors
    assert "resuming from step-0000" in output
    assert what_a_run_leaves(root / "runs") == uninterrupted
    (root / "runs").rename(root / "runs-killed")


def test_a_polite_signal_checkpoints_and_says_so(root: Path, uninterrupted: dict[str, object]) -> None:
    for number, step in ((signal.SIGTERM, 8), (signal.SIGUSR2, 17)):
        process = start(*RUN, *places(root))
        wait_for_step(root / "runs", step, process)
        process.send_signal(number)
        _, errors = process.communicate()
        assert process.returncode == 130
        assert f"stopped by {number.name}; run the same command again to resume from the checkpoint" in errors
    code, _, errors = finish(*RUN, *places(root))
    assert code == 0, errors
    assert what_a_run_leaves(root / "runs") == uninterrupted
    (root / "runs").rename(root / "runs-signalled")


def test_a_damaged_checkpoint_is_passed_over(root: Path, uninterrupted: dict[str, object]) -> None:
    process = start(*RUN, *places(root))
    wait_for_step(root / "runs", 13, process)
    process.kill()
    process.communicate()
    newest = max((root / "runs").glob("ner/*/checkpoints/step-*.ckpt"))
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    code, output, errors = finish(*RUN, *places(root))
    assert code == 0, errors
    assert "is damaged and is skipped" in output
    assert what_a_run_leaves(root / "runs") == uninterrupted


def test_a_finished_run_is_not_run_again(root: Path, uninterrupted: dict[str, object]) -> None:
    (directory,) = [path.parent for path in (root / "runs-uninterrupted").glob("ner/*/result.json")]
    (directory / "checkpoints").mkdir()  # of a process that was killed right after the record
    (directory / ".result.json-0123abcd.tmp").touch()
    code, output, _ = finish(*RUN, f"paths.runs={root / 'runs-uninterrupted'}", *places(root)[1:])
    assert code == 0
    assert output.startswith("already done")
    assert "  loss " not in output
    assert not (directory / "checkpoints").exists() and not list(directory.glob(".*.tmp"))


def test_a_finished_run_whose_record_is_a_link_to_nowhere_is_not_overwritten(
    root: Path, uninterrupted: dict[str, object]
) -> None:
    runs = shutil.copytree(root / "runs-uninterrupted", root / "runs-dangling")
    (result,) = runs.glob("ner/*/result.json")
    become_dangling(result)
    before = {path: path.lstat().st_ino for path in result.parent.iterdir()}
    code, _, errors = finish(*RUN, f"paths.runs={runs}", *places(root)[1:])
    assert code == 1
    assert f"{result}: not a record: not a file" in errors
    assert {path: path.lstat().st_ino for path in result.parent.iterdir()} == before
