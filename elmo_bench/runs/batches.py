"""Batches of a task, in an order that depends only on the seed and the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch.utils.data import IterableDataset

from elmo_bench.data.batching import IndexedExample, pad_fields, plan_batches
from elmo_bench.tensors import Batch, Stream
from elmo_bench.types import Excerpt, Prediction

LayerSource = Callable[[Sequence[Excerpt]], tuple[torch.Tensor, torch.Tensor]]
"""Maps excerpts to padded layers (rows, layers, time, dim) and their mask (rows, time)."""


def no_layers(excerpts: Sequence[Excerpt]) -> tuple[torch.Tensor, torch.Tensor]:
    """Replaces the layers in a run without ELMo by an empty tensor of width 0."""
    lengths = torch.tensor([len(excerpt) for excerpt in excerpts])
    longest = int(lengths.max())
    mask = torch.arange(longest)[None, :] < lengths[:, None]
    return torch.zeros(len(excerpts), 0, longest, 0), mask


def collate(examples: Sequence[IndexedExample], layers_of: LayerSource) -> Batch:
    """Some indexed examples as one batch, with their frozen representations."""
    streams = {}
    for name in examples[0].excerpts:
        rows = [excerpt for example in examples for excerpt in example.excerpts[name]]
        layers, mask = layers_of(rows)
        counts = tuple(len(example.excerpts[name]) for example in examples)
        streams[name] = Stream(layers, mask, counts)
    return Batch(tuple(example.id for example in examples), streams, pad_fields(examples))


class TrainingBatches(IterableDataset[Batch]):
    """The shuffled batches from the given step to the next evaluation; an epoch may end in between.

    Deriving order and start from the step makes a resumed run read exactly what an uninterrupted
    one reads, no matter when it was killed.
    """

    def __init__(
        self,
        examples: Sequence[IndexedExample],
        layers_of: LayerSource,
        batch_size: int,
        bucket: bool,
        seed: int,
        evaluate_every: int | None = None,
    ) -> None:
        self._examples = examples
        self._layers_of = layers_of
        self._batch_size = batch_size
        self._bucket = bucket
        self._seed = seed
        self._lengths = [example.length for example in examples]
        self.epoch_length = -(-len(examples) // batch_size)
        self._evaluate_every = evaluate_every or self.epoch_length
        self.step: Callable[[], int] = lambda: 0  # set by the module that owns the count

    def __len__(self) -> int:
        """The number of updates between two evaluations."""
        return self._evaluate_every

    def __iter__(self) -> Iterator[Batch]:
        step = self.step()
        end = (step // len(self) + 1) * len(self)
        while step < end:
            epoch, start = divmod(step, self.epoch_length)
            plan = plan_batches(self._lengths, self._batch_size, seed_at(self._seed, epoch), self._bucket)
            rest = plan[start : start + end - step]
            for numbers in rest:
                yield collate([self._examples[number] for number in numbers], self._layers_of)
            step += len(rest)


class EvaluationBatches(IterableDataset[Batch]):
    """Batches of a fixed size and of examples of similar length, always the same, so that results are too."""

    def __init__(self, examples: Sequence[IndexedExample], layers_of: LayerSource, batch_size: int) -> None:
        self._examples = examples
        self._layers_of = layers_of
        self._batch_size = batch_size
        self._order = sorted(range(len(examples)), key=lambda number: examples[number].length)  # stable

    def __len__(self) -> int:
        return -(-len(self._examples) // self._batch_size)

    def __iter__(self) -> Iterator[Batch]:
        for start in range(0, len(self._examples), self._batch_size):
            numbers = self._order[start : start + self._batch_size]
            yield collate([self._examples[number] for number in numbers], self._layers_of)

    def in_file_order(self, predictions: Sequence[Prediction]) -> list[Prediction]:
        """What was predicted for the examples of all batches, one after the other, as the file has them."""
        placed = dict(zip(self._order, predictions, strict=True))
        return [placed[number] for number in range(len(self._examples))]


def seed_at(seed: int, position: int) -> int:
    """A well-spread 63-bit seed for one step or one epoch of one run."""
    mixed = (seed * 0x9E3779B97F4A7C15 + position * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) % 2**64
    mixed = (mixed ^ (mixed >> 31)) * 0xD6E8FEB86659FD93 % 2**64
    return (mixed ^ (mixed >> 32)) % 2**63
