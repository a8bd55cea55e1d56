"""When training stops: dev scores, patience, the floor of updates, the cap; and what is said about it."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from elmo_bench.config import ElmoConfig, TrainerConfig, TrainingConfig
from elmo_bench.data.batching import IndexedExample
from elmo_bench.encoders.injection import Injection
from elmo_bench.runs.batches import EvaluationBatches, TrainingBatches, no_layers
from elmo_bench.runs.fitting import Fit, FitPlan, fit, recent_slope
from elmo_bench.runs.module import TaskModule
from elmo_bench.tensors import Batch, HeadOutput, Injected
from elmo_bench.training.stopping import SIGNALS
from elmo_bench.types import Excerpt

EXAMPLES, BATCH = 10, 4  # three updates an epoch
ELMO = ElmoConfig.model_validate(
    {"where": "none", "layers": "all", "lambda": 0, "layer_norm": False, "dropout": 0, "gamma": "learned"}
)


class ToyHead(nn.Module):
    """One weight; what it predicts does not matter here."""

    fitting = "gradient"

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        return HeadOutput((self.weight - 1) ** 2, {})

    def decode(self, output: HeadOutput, batch: Batch) -> list[float]:
        return [float(self.weight.detach())] * len(batch)


def train(directory: Path, scores: Sequence[float], epochs: int = 100, **settings: Any) -> Fit:
    """Fit the toy while dev gives these scores, the last one for ever."""
    training = TrainingConfig.model_validate(
        {
            "optimiser": {"name": "adam", "lr": 0.1},
            "clip": {"by": "none"},
            "batch_size": BATCH,
            "epochs": epochs,
            "patience": 3,
            **settings,
        }
    )
    examples = [
        IndexedExample(str(number), {"text": (Excerpt.whole(("word",)),)}, {"length": torch.tensor(1)})
        for number in range(EXAMPLES)
    ]
    batches = TrainingBatches(examples, no_layers, BATCH, False, 1, training.evaluate_every)
    rest = iter(scores)
    last = [0.0]

    def score(_: list[Any]) -> float:
        last[0] = next(rest, last[0])
        return last[0]

    plan = FitPlan(
        directory=directory / "checkpoints",
        settings=training,
        trainer=TrainerConfig(accelerator="cpu", devices=1, precision="32-true"),
        most_updates=epochs * batches.epoch_length,
        score=score,
        higher_is_better=True,
        log=print,
        observe=lambda _: None,
    )
    module = TaskModule(ToyHead(), Injection(ELMO, (), 0), training, 0.0, 1)  # type: ignore[arg-type]
    return fit(module, batches, EvaluationBatches(examples, no_layers, BATCH), plan)


def test_patience_ends_training_after_so_many_evaluations_without_a_new_best(tmp_path: Path) -> None:
    found = train(tmp_path, [10, 30, 20, 29, 30])
    assert (found.stopped, found.best_epoch, len(found.curve), found.updates) == ("patience", 2, 5, 15)


def test_a_run_that_meets_its_cap_says_so(tmp_path: Path) -> None:
    found = train(tmp_path, [1, 2, 3, 4, 5, 6], epochs=4)
    assert (found.stopped, found.best_epoch, found.updates) == ("cap", 4, 12)
    assert found.slope == pytest.approx(1.0)


def test_patience_that_runs_out_at_the_cap_is_patience(tmp_path: Path) -> None:
    assert train(tmp_path, [5, 4, 3, 2], epochs=4).stopped == "patience"


def test_patience_counts_evaluations_not_epochs(tmp_path: Path) -> None:
    found = train(tmp_path, [10, 30, 20, 29, 30], evaluate_every=5)
    assert (found.stopped, found.updates) == ("patience", 25)
    assert [row["step"] for row in found.curve] == [5, 10, 15, 20, 25]
    assert [row["epoch"] for row in found.curve] == pytest.approx([5 / 3, 10 / 3, 5, 20 / 3, 25 / 3])
    assert found.best_epoch == pytest.approx(10 / 3)


def test_patience_does_not_stop_before_the_floor_of_updates(tmp_path: Path) -> None:
    found = train(tmp_path, [30, 20], least_updates=31)
    assert (found.stopped, found.updates) == ("patience", 33)
    assert found.best_epoch == 1


def test_the_handlers_of_signals_are_those_from_before(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    train(tmp_path, [30, 20])
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_batches_are_the_same_whenever_dev_is_looked_at() -> None:
    examples = [
        IndexedExample(str(number), {"text": (Excerpt.whole(("word",)),)}, {"length": torch.tensor(1)})
        for number in range(EXAMPLES)
    ]

    def read(evaluate_every: int | None, updates: int) -> list[tuple[str, ...]]:
        batches = TrainingBatches(examples, no_layers, BATCH, False, 1, evaluate_every)
        seen: list[tuple[str, ...]] = []
        batches.step = lambda: len(seen)
        while len(seen) < updates:
            seen += [batch.ids for batch in list(batches)]
        return seen

    usual = read(None, 12)
    assert len(usual) == 12
    for evaluate_every in (1, 2, 4, 5, 12):
        assert read(evaluate_every, 12)[:12] == usual


def test_a_start_within_a_round_reads_the_rest_of_the_round() -> None:
    examples = [
        IndexedExample(str(number), {"text": (Excerpt.whole(("word",)),)}, {"length": torch.tensor(1)})
        for number in range(EXAMPLES)
    ]
    batches = TrainingBatches(examples, no_layers, BATCH, False, 1, 5)
    batches.step = lambda: 5
    whole = [batch.ids for batch in batches]
    assert len(whole) == 5
    for start in range(5):
        batches.step = lambda step=5 + start: step  # type: ignore[misc]
        assert [batch.ids for batch in batches] == whole[start:]


@pytest.mark.parametrize(
    ("scores", "slope"), [([7.0], None), ([1.0, 3.0], 2.0), ([90.0, 0.0, 1.0, 2.0, 3.0, 4.0], 1.0)]
)
def test_the_slope_is_of_the_last_five_scores(scores: list[float], slope: float | None) -> None:
    assert recent_slope(scores) == (None if slope is None else pytest.approx(slope))
