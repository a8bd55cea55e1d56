"""Two processes train as one does: they share the rows of every batch and draw the same negatives."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from elmo_bench.types import UsageError
from tests.support.composition import pretrain_one, pretraining
from tests.support.processes import finish, start_python

STEPS = 50
SETTINGS = [
    "bilm=tiny",
    f"bilm.steps={STEPS}",
    "bilm.curve_every=1",
    "bilm.curve_tokens=20",
    "bilm.dropout=0",
    "bilm.negatives=60",
]
BATCHES = {
    # one sentence may fill a batch by itself: the second process then has no row of it
    "sentences": ["bilm.batches.tokens=24"],
    "streams": ["bilm.batches.kind=streams", "bilm.batches.rows=6", "bilm.batches.window=5"],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    chooser = random.Random(1)
    words = [f"word{number}" for number in range(300)]
    for name, count in (("train.txt", 400), ("heldout.txt", 4)):
        lines = [" ".join(chooser.choices(words, k=chooser.choice([3, 5, 8, 30]))) for _ in range(count)]
        (directory / name).write_text("\n".join(lines) + "\n")
    return directory


def read_record(root: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((root / "models" / "tiny" / "record.json").read_text())
    return record


@pytest.mark.parametrize("kind", ["sentences", pytest.param("streams", marks=pytest.mark.slow)])
def test_one_process_and_two_have_the_same_losses(corpus: Path, tmp_path: Path, kind: str) -> None:
    settings = [*SETTINGS, *BATCHES[kind], f"corpus={corpus}"]
    places = [f"paths.{place}={tmp_path / '2' / place}" for place in ("models", "runs", "cache")]
    code, _, errors = finish(
        *settings, "trainer.devices=2", "trainer.threads=1", *places, script="pretrain.py"
    )
    assert code == 0, errors
    pretrain_one(pretraining(tmp_path / "1", *settings))
    one, both = (read_record(tmp_path / str(devices)) for devices in (1, 2))
    assert one["objective"] == "sampled softmax"
    assert [row["tokens"] for row in one["curve"]] == [row["tokens"] for row in both["curve"]]
    assert len(one["curve"]) == STEPS
    for alone, together in zip(one["curve"], both["curve"], strict=True):
        for name in ("loss_forward", "loss_backward", "heldout_average"):
            assert together[name] == pytest.approx(alone[name], rel=1e-4)
    assert one["curve"][-1]["loss_forward"] < one["curve"][0]["loss_forward"]


def test_rows_of_streams_that_cannot_be_shared_equally_are_refused(corpus: Path, tmp_path: Path) -> None:
    settings = [*SETTINGS, "bilm.batches.kind=streams", "bilm.batches.rows=5", "trainer.devices=2"]
    with pytest.raises(UsageError, match=r"bilm.batches.rows: expected a multiple of the 2 processes, got 5"):
        pretrain_one(pretraining(tmp_path, *settings, f"corpus={corpus}"))


def test_a_text_too_short_for_a_step_of_streams_is_refused(corpus: Path, tmp_path: Path) -> None:
    settings = [*SETTINGS, "bilm.batches.kind=streams", "bilm.batches.rows=9999", "bilm.batches.window=20"]
    with pytest.raises(UsageError, match=r"needs at least 199,980 predictions, the text has [\d,]+; lower"):
        pretrain_one(pretraining(tmp_path, *settings, f"corpus={corpus}"))


@pytest.mark.slow
def test_two_machines_train_as_one_process_does_and_resume_after_a_kill(corpus: Path, tmp_path: Path) -> None:
    settings = [*SETTINGS, *BATCHES["sentences"], f"corpus={corpus}"]
    checkpoints = tmp_path / "2" / "runs" / "pretraining" / "tiny" / "checkpoints"
    nodes = start_nodes(tmp_path / "2", *settings, "trainer.checkpoint_seconds=0")
    wait_for(lambda: any(checkpoints.glob("step-*.ckpt")) or any(node.poll() is not None for node in nodes))
    assert all(kill_workers(node) for node in nodes)
    assert all(node.communicate(timeout=100) and node.returncode for node in nodes)
    nodes = start_nodes(tmp_path / "2", *settings)
    (output, errors), _ = [node.communicate(timeout=200) for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], errors
    assert "resuming from step-" in output
    pretrain_one(pretraining(tmp_path / "1", *settings))
    alone, together = (read_weights(tmp_path / count / "models" / "tiny") for count in "12")
    assert alone.keys() == together.keys()
    for name, weights in alone.items():
        np.testing.assert_allclose(together[name], weights, rtol=0, atol=1e-5, err_msg=name)


def start_nodes(root: Path, *settings: str) -> list[subprocess.Popen[str]]:
    """torchrun on two machines, which are both this one, with one process each."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    places = [f"paths.{place}={root / place}" for place in ("models", "runs", "cache")]
    meeting = ["--nnodes=2", "--nproc-per-node=1", "--master-addr=127.0.0.1", f"--master-port={port}"]
    words = ["pretrain.py", *settings, "trainer.nodes=2", "trainer.threads=1", *places]
    return [
        start_python("torch.distributed.run", *meeting, f"--node-rank={node}", *words, script="-m")
        for node in (0, 1)
    ]


def kill_workers(launcher: subprocess.Popen[str]) -> list[int]:
    """End the processes that a launcher has started, as a crash does."""
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    return [int(child) for child in children]


def wait_for(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 200
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.05)


def read_weights(model: Path) -> dict[str, np.ndarray]:
    return {**load_file(model / "weights.safetensors"), **load_file(model / "softmax.safetensors")}
