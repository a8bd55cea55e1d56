"""A batch computed in parts: the same training, up to last bits and dropout's draws."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from elmo_bench.config import ElmoConfig, TrainerConfig, TrainingConfig
from elmo_bench.data.batching import IndexedExample
from elmo_bench.encoders.injection import Injection
from elmo_bench.identity import identify
from elmo_bench.records import condition_of
from elmo_bench.runs import execution
from elmo_bench.runs.batches import EvaluationBatches, TrainingBatches, collate, no_layers
from elmo_bench.runs.fitting import FitPlan, fit
from elmo_bench.runs.module import TaskModule
from elmo_bench.tensors import Batch, HeadOutput, Injected, cut_batch
from elmo_bench.training.memory import explain_exhaustion
from elmo_bench.types import BenchError
from tests.support.composition import run_config

ELMO = ElmoConfig.model_validate(
    {"where": "none", "layers": "all", "lambda": 0, "layer_norm": False, "dropout": 0, "gamma": "learned"}
)
TRAINING = TrainingConfig.model_validate(
    {
        "optimiser": {"name": "adagrad", "lr": 0.1},
        "clip": {"by": "norm", "at": 0.5},
        "batch_size": 4,
        "epochs": 3,
        "patience": 3,
    }
)


class LinearHead(nn.Module):
    """Least squares; the loss is a mean over examples, or over the values of a field."""

    fitting = "gradient"

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        errors = batch.fields["x"] @ self.weight - batch.fields["y"]
        return HeadOutput(self.reduce(errors.square(), batch), {})

    def reduce(self, squares: Tensor, batch: Batch) -> Tensor:
        return squares.mean()

    def decode(self, output: HeadOutput, batch: Batch) -> list[float]:
        return [0.0] * len(batch)


class TokenHead(LinearHead):
    """The mean over tokens, of which examples have different numbers."""

    def reduce(self, squares: Tensor, batch: Batch) -> Tensor:
        tokens = batch.streams["text"].mask.sum(1)
        return (squares * tokens).sum() / tokens.sum()

    def loss_weight(self, batch: Batch) -> float:
        return float(batch.streams["text"].mask.sum())


def examples() -> list[IndexedExample]:
    """Ten examples, so that the last batch of an epoch has two."""
    numbers = torch.Generator().manual_seed(1)
    return [
        IndexedExample(
            str(index),
            {"text": (("word",) * (1 + index % 3),)},
            {"x": torch.randn(3, generator=numbers), "y": torch.randn((), generator=numbers)},
        )
        for index in range(10)
    ]


def train(directory: Path, head: nn.Module, parts: int) -> tuple[Tensor, list[dict[str, float]]]:
    """The weights after training, and the learning curve."""
    batches = TrainingBatches(examples(), no_layers, 4, False, 1)
    injection = Injection(ELMO, (), 0)
    module = TaskModule(head, injection, TRAINING, 0.0, 1, parts)  # type: ignore[arg-type]
    plan = FitPlan(
        directory=directory / f"{type(head).__name__}-{parts}",
        settings=TRAINING,
        trainer=TrainerConfig(accelerator="cpu", devices=1, precision="32-true"),
        most_updates=9,
        score=lambda _: 0.0,
        higher_is_better=True,
        log=print,
        observe=lambda _: None,
    )
    result = fit(module, batches, EvaluationBatches(examples(), no_layers, 4), plan)
    assert result.updates == 9
    return module.head.weight.detach(), result.curve


@pytest.mark.parametrize("kind", [LinearHead, TokenHead])
@pytest.mark.parametrize("parts", [2, 3, 50])
def test_training_in_parts_is_the_same_training(kind: type[nn.Module], parts: int, tmp_path: Path) -> None:
    whole, curve = train(tmp_path, kind(), 1)
    in_parts, curve_in_parts = train(tmp_path, kind(), parts)
    assert whole.abs().max() > 0.01
    torch.testing.assert_close(in_parts, whole, rtol=1e-5, atol=1e-7)
    for row, other in zip(curve, curve_in_parts, strict=True):
        assert other == pytest.approx(row, rel=1e-5)


def test_parts_are_all_of_a_batch_in_order() -> None:
    batch = collate(examples()[:7], no_layers)
    parts = cut_batch(batch, 3)
    assert [len(part) for part in parts] == [2, 2, 3]
    assert tuple(name for part in parts for name in part.ids) == batch.ids
    assert torch.cat([part.fields["x"] for part in parts]).equal(batch.fields["x"])
    assert torch.cat([part.streams["text"].mask for part in parts]).equal(batch.streams["text"].mask)


def test_parts_belong_to_the_condition_and_their_absence_does_not() -> None:
    usual, one, two = (
        run_config("task=ner", "elmo=none", *words)
        for words in ([], ["trainer.accumulate=1"], ["trainer.accumulate=2"])
    )
    conditions = [condition_of(identify(config, 1, {}, None, None)) for config in (usual, one, two)]
    assert conditions[0] == conditions[1] != conditions[2]
    assert "accumulate" not in usual.model_dump()["trainer"]


def test_a_gpu_without_memory_is_an_answer_that_names_keys() -> None:
    message = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8 GiB"
    with pytest.raises(BenchError) as caught, explain_exhaustion(execution.SMALLER_STEPS):
        raise torch.OutOfMemoryError(message)
    answer = str(caught.value)
    assert answer.startswith("the GPU is out of memory (Tried to allocate 2.00 GiB); ")
    keys: list[Any] = ["trainer.accumulate=4", "task.training.batch_size", "trainer.precision=bf16-mixed"]
    assert [key for key in keys if key not in answer] == []
