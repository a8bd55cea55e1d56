"""Training steps of a task as a run takes them, for the benchmarks that time them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from elmo_bench import sources
from elmo_bench.config import RunConfig, read_config
from elmo_bench.data.batching import IndexedExample
from elmo_bench.encoders.injection import Injection
from elmo_bench.plugins import load_task
from elmo_bench.runs.batches import LayerSource, TrainingBatches, collate
from elmo_bench.runs.inputs import build_vocabularies, number_examples
from elmo_bench.runs.module import TaskModule
from elmo_bench.sweep.compose import compose
from elmo_bench.tensors import Batch
from elmo_bench.types import Excerpt, Words


@dataclass(frozen=True)
class TaskSteps:
    """A head at some size with its training examples, before anything is trained."""

    config: RunConfig
    examples: list[IndexedExample]
    module: TaskModule
    optimiser: torch.optim.Optimizer

    @property
    def sentences(self) -> list[Words]:
        """Every sequence that the encoder would read in one epoch."""
        return [excerpt.words for row in self.examples for rows in row.excerpts.values() for excerpt in rows]

    def batches(self, layers_of: LayerSource) -> Iterator[Batch]:
        """Batches without end, in the order of a run's epochs."""
        settings = self.config.task.training
        source = TrainingBatches(
            self.examples, layers_of, settings.batch_size, settings.bucket_by_length, self.config.seed
        )
        for epoch in itertools.count():
            source.step = partial(int, epoch * len(source))
            yield from source

    def collate(self, numbers: Sequence[int], layers_of: LayerSource) -> Batch:
        """One batch of chosen examples."""
        return collate([self.examples[number] for number in numbers], layers_of)

    def step(self, batch: Batch) -> None:
        """Forward, backward, clipping and optimiser."""
        self.module.train()
        self.optimiser.zero_grad()
        loss = self.module(batch).loss + self.config.elmo.lam * self.module.injection.penalty()
        torch.autograd.backward([loss])
        self.module.configure_gradient_clipping(self.optimiser)
        self.optimiser.step()

    @torch.inference_mode()
    def decode(self, batch: Batch) -> None:
        """Forward and decoding, as on dev data."""
        self.module.eval()
        self.module.predict_step(batch, 0)


def build_steps(overrides: Sequence[str], layer_count: int, dim: int, limit: int | None = None) -> TaskSteps:
    """What a run with these words on its command line would train."""
    torch.manual_seed(0)
    config = read_config(RunConfig, compose(overrides))
    task = load_task(config.task)
    corpus = sources.prepare(config.task, config.data, config.paths, log=lambda _: None)
    rows = list(task.read(corpus.files["train"]))[:limit]
    vocabularies = build_vocabularies(config, task, rows, log=lambda _: None)
    injection = Injection(config.elmo, range(layer_count), dim)
    head = task.build_head(vocabularies, injection.widths)
    module = TaskModule(head, injection, config.task.training, config.elmo.lam, config.seed)
    chosen: Any = module.configure_optimizers()
    optimiser = chosen["optimizer"] if isinstance(chosen, dict) else chosen
    return TaskSteps(config, number_examples(task, rows, vocabularies), module, optimiser)


def random_layers(layer_count: int, dim: int) -> LayerSource:
    """Layers of the right shape that cost no more than a copy, as the store's do."""
    noise = torch.randn(layer_count, 2**16, dim // 64).to(torch.float16)

    def layers_of(excerpts: Sequence[Excerpt]) -> tuple[Tensor, Tensor]:
        lengths = torch.tensor([len(excerpt) for excerpt in excerpts])
        longest = int(lengths.max())
        flat = noise.reshape(layer_count, -1)
        mask = torch.arange(longest) < lengths.unsqueeze(1)  # (rows, time)
        layers = torch.zeros(len(excerpts), layer_count, longest, dim, dtype=torch.float16)
        for row, length in enumerate(lengths.tolist()):
            start = (row * 997) % 2**15
            layers[row, :, :length] = flat[:, start : start + length * dim].view(layer_count, length, dim)
        return layers, mask

    return layers_of


def count_parameters(module: nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters() if weight.requires_grad)
