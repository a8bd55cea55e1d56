"""Two processes train as one does: they share the rows of every batch and draw the same negatives."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.types import UsageError
from tests.support.composition import pretrain_one, pretraining
from tests.support.processes import finish

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
    with pytest.raises(UsageError, match=r"bilm.batches.rows: expected a multiple of trainer.devices=2"):
        pretrain_one(pretraining(tmp_path, *settings, f"corpus={corpus}"))
