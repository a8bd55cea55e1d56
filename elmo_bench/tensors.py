"""The tensors that data, representations and heads exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from elmo_bench.types import Prediction, UsageError


def check_device(device: str, key: str) -> torch.device:
    """The device of a setting, if PyTorch can use it on this machine."""
    try:
        return torch.zeros(1, device=device).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(
            f"{key}={device}: PyTorch cannot use it on this machine ({reason}); cpu always works"
        ) from error


@dataclass(frozen=True)
class Stream:
    """The frozen encoder's layers for the token sequences of one stream in a batch, before mixing."""

    layers: Tensor  # (rows, layers, time, dim); layers and dim are 0 without ELMo
    mask: Tensor  # (rows, time), true at real tokens
    rows_per_example: tuple[int, ...]  # rows per example: 1, or one row per sentence of a document


@dataclass(frozen=True)
class Batch:
    """A batch of examples: representations by stream, other tensors by field."""

    ids: tuple[str, ...]
    streams: Mapping[str, Stream]
    fields: Mapping[str, Tensor]  # (examples, ...), padded with zeros at the end of every dimension

    def __len__(self) -> int:
        return len(self.ids)


def cut_batch(batch: Batch, parts: int) -> list[Batch]:
    """A batch in parts of about equally many examples, at most one part for each; the padding stays."""
    parts = min(parts, len(batch))
    ends = [len(batch) * part // parts for part in range(parts + 1)]
    return [_slice_batch(batch, first, last) for first, last in pairwise(ends)]


def _slice_batch(batch: Batch, first: int, last: int) -> Batch:
    streams = {}
    for name, stream in batch.streams.items():
        counts = stream.rows_per_example
        rows = slice(sum(counts[:first]), sum(counts[:last]))
        streams[name] = Stream(stream.layers[rows], stream.mask[rows], counts[first:last])
    fields = {name: tensor[first:last] for name, tensor in batch.fields.items()}
    return Batch(batch.ids[first:last], streams, fields)


@dataclass(frozen=True)
class Widths:
    """The number of ELMo features at each injection point of a head; 0 without ELMo."""

    at_input: int
    at_output: int

    @property
    def has_elmo(self) -> bool:
        """Whether there are any. A head never asks; a task may, if one of its settings depends on ELMo."""
        return self.at_input + self.at_output > 0


@dataclass(frozen=True)
class Injected:
    """The mixed representations of one stream, ready to be concatenated."""

    at_input: Tensor  # (rows, time, widths.at_input)
    at_output: Tensor  # (rows, time, widths.at_output)
    mask: Tensor  # (rows, time)


@dataclass(frozen=True)
class HeadOutput:
    """The output of a head for one batch; `decode` turns the scores into predictions."""

    loss: Tensor  # scalar
    scores: Mapping[str, Tensor]


class Head(Protocol):
    """The trainable part of a task; every head is also a torch.nn.Module.

    A `one_pass` head has no loss: it sees every training batch once through `observe`,
    then `finish`, and is ready to decode.
    """

    @property
    def fitting(self) -> Literal["gradient", "one_pass"]: ...

    def __call__(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput: ...

    def decode(self, output: HeadOutput, batch: Batch) -> list[Prediction]:
        """One plain JSON-serialisable prediction per example."""
        ...


@runtime_checkable
class Weighted(Protocol):
    """A head whose loss is a mean over something else than the examples of a batch; optional."""

    def loss_weight(self, batch: Batch) -> float:
        """The number of what the loss is a mean over, such as tokens."""
        ...


def share_parts(head: Head, parts: Sequence[Batch]) -> list[float]:
    """The share of every part of a batch in the loss of the batch."""
    weights = [head.loss_weight(part) if isinstance(head, Weighted) else float(len(part)) for part in parts]
    return [weight / sum(weights) for weight in weights]


@runtime_checkable
class Probabilistic(Protocol):
    """A head whose scores define probabilities, so that models can be averaged; optional."""

    def probabilities(self, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
        """Normalised, by score name; for an ensemble, `decode` reads the logarithm of their mean."""
        ...
