"""From indexed examples to padded batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from elmo_bench.types import Excerpt


@dataclass(frozen=True)
class IndexedExample:
    """One indexed example, with the excerpts for looking up its representations."""

    id: str
    excerpts: Mapping[str, tuple[Excerpt, ...]]  # by stream
    fields: Mapping[str, Tensor]

    @property
    def length(self) -> int:
        """The number of tokens in all streams; batches are bucketed by it."""
        return sum(len(excerpt) for rows in self.excerpts.values() for excerpt in rows)


def pad(tensors: Sequence[Tensor]) -> Tensor:
    """Stack tensors of one rank, padded with zeros at the end of every dimension."""
    shape = [max(sizes) for sizes in zip(*(tuple(tensor.shape) for tensor in tensors), strict=True)]
    padded = tensors[0].new_zeros((len(tensors), *shape))
    for row, tensor in enumerate(tensors):
        padded[row][tuple(slice(size) for size in tensor.shape)] = tensor
    return padded


def pad_fields(examples: Sequence[IndexedExample]) -> dict[str, Tensor]:
    """Every field of some examples as one padded tensor."""
    return {name: pad([example.fields[name] for example in examples]) for name in examples[0].fields}


def plan_batches(lengths: Sequence[int], batch_size: int, seed: int, bucket: bool) -> list[list[int]]:
    """A shuffled epoch of batches; it depends only on the arguments.

    With `bucket`, batches hold examples of similar length and only their order is random.
    """
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(lengths), generator=generator).tolist()
    if bucket:
        order.sort(key=lambda number: lengths[number])  # stable: ties stay shuffled
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    if bucket:
        shuffled = torch.randperm(len(batches), generator=generator).tolist()
        batches = [batches[number] for number in shuffled]
    return batches
