"""How training multiplies matrices, and the character network by few large products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from elmo_bench.bilm.model import TokenEncoder
from elmo_bench.nn.products import multiply, multiply_columns, multiply_with_gradient


@dataclass(frozen=True)
class Arithmetic:
    """The type of products, and whether they are arranged for speed, which changes their last bits."""

    dtype: torch.dtype | None = None  # None: that of the weights
    fast: bool = False

    def multiply(self, left: Tensor, right: Tensor) -> Tensor:
        """The product of two matrices of one type; gradients are the caller's business."""
        return multiply(left, right) if self.fast else torch.mm(left, right)

    def multiply_columns(self, left: Tensor, right: Tensor) -> Tensor:
        """left' right, as a weight's gradient is."""
        is_copied = self.fast and left.dtype == torch.float32  # bfloat16 products do not copy what they turn
        return multiply_columns(left, right) if is_copied else torch.mm(left.t(), right)

    def add(self, sums: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """The same plus one row for all, or a row for each."""
        if self.fast and left.dtype == torch.float32:
            return multiply(left, right).add_(sums)
        return torch.addmm(sums, left, right)


PLAIN = Arithmetic()

Bank = tuple[int, int]
"""How many filters of the character network have a width, and the width; their columns follow one another."""


def encode_words(encoder: TokenEncoder, ids: Tensor, arithmetic: Arithmetic = PLAIN) -> Tensor:
    """Character ids (words, characters) to token vectors (words, P); equals `TokenEncoder`."""
    if not arithmetic.fast:
        vectors: Tensor = encoder(ids)
        return vectors
    features = _convolve(encoder, ids, arithmetic)
    for highway in encoder.highways:
        gate = torch.sigmoid(_apply(highway.gate, features, arithmetic))
        features = torch.lerp(features, F.relu(_apply(highway.transform, features, arithmetic)), gate)
    if isinstance(encoder.projection, nn.Linear):
        return _apply(encoder.projection, features, arithmetic)
    return features


def _convolve(encoder: TokenEncoder, ids: Tensor, arithmetic: Arithmetic) -> Tensor:
    """The highest value of every filter in every word, (words, filter_count).

    One product has the windows of the widest filter as rows and all filters as columns; a narrower filter
    is zero for the rest of the window. Zeros after the word make a window at every character.
    """
    embedded = encoder.characters(encoder.trim(ids))  # (words, characters, character_dim)
    words, length, _ = embedded.shape
    windows = F.pad(embedded, (0, 0, 0, encoder.widest - 1)).unfold(1, encoder.widest, 1)
    filters = torch.cat([F.pad(one.weight, (0, encoder.widest - _width(one))) for one in _filters(encoder)])
    sums = _multiply(windows.reshape(words * length, -1), filters.flatten(1), arithmetic)
    banks = [(one.out_channels, _width(one)) for one in _filters(encoder)]
    highest = keep_highest(sums.view(words, length, -1), banks)
    biases = torch.cat([one.bias for one in _filters(encoder) if one.bias is not None])
    return F.relu(highest.to(biases.dtype) + biases)


def keep_highest(sums: Tensor, banks: Sequence[Bank]) -> Tensor:
    """What is highest of (words, windows, filters) in every word: (words, filters)."""
    highest: Tensor = _Highest.apply(sums, banks)  # type: ignore[no-untyped-call]
    return highest


class _Highest(torch.autograd.Function):
    """y = max_t x_t over the windows t of a filter that end inside the word.

    With g the gradient of y and n the number of windows where x_t = y, the gradient of x_t is g / n there and
    0 elsewhere, as that of `amax`.
    """

    @staticmethod
    def forward(ctx: Any, sums: Tensor, banks: Sequence[Bank]) -> Tensor:
        parts = _inside(sums, banks)
        highest = torch.cat([reduce(torch.maximum, part.unbind(1)) for part in parts], dim=1)
        ctx.save_for_backward(sums, highest)
        ctx.banks = banks
        return highest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        sums, highest = ctx.saved_tensors
        of_sums = torch.zeros_like(sums)
        sizes = [filters for filters, _ in ctx.banks]
        parts = zip(
            _inside(sums, ctx.banks),
            _inside(of_sums, ctx.banks),
            torch.split(highest, sizes, dim=1),
            torch.split(gradient, sizes, dim=1),
            strict=True,
        )
        for part, of_part, best, of_best in parts:
            torch.eq(part, best.unsqueeze(1), out=of_part)  # 0 or 1: no booleans, which are slow here
            counts = reduce(torch.add, of_part.unbind(1))  # exact in bfloat16 too, up to 256 windows
            of_part.mul_((of_best / counts).unsqueeze(1))
        return of_sums, None


def _inside(sums: Tensor, banks: Sequence[Bank]) -> list[Tensor]:
    """The part of every bank without windows that reach beyond the characters: (words, windows, filters)."""
    parts = torch.split(sums, [filters for filters, _ in banks], dim=2)
    return [part[:, : sums.shape[1] - width + 1] for part, (_, width) in zip(parts, banks, strict=True)]


def _filters(encoder: TokenEncoder) -> list[nn.Conv1d]:
    return [one for one in encoder.convolutions if isinstance(one, nn.Conv1d)]


def _width(convolution: nn.Conv1d) -> int:
    return convolution.kernel_size[0]


def _apply(layer: Any, inputs: Tensor, arithmetic: Arithmetic) -> Tensor:
    outputs: Tensor = _multiply(inputs, layer.weight, arithmetic).to(inputs.dtype) + layer.bias
    return outputs


def _multiply(inputs: Tensor, weight: Tensor, arithmetic: Arithmetic) -> Tensor:
    dtype = arithmetic.dtype or weight.dtype
    return multiply_with_gradient(inputs.to(dtype), weight.to(dtype))
