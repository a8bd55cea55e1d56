"""Dropout whose masks cost little on a CPU.

PyTorch draws ten nanoseconds for every number of a mask there, which was a fifth of a step of SNLI. Sixteen
bits of a fast generator, seeded by PyTorch's, decide as well in a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmo_bench.nn.compiled import call_loop, has_loops
from elmo_bench.nn.packing import Packing

LEVELS = 2**16  # a rate is rounded to a multiple of 1 / LEVELS
PER_WORD = 4  # decisions that a random word of 64 bits is enough for


def draw_kept(shape: Sequence[int], rate: float, like: Tensor) -> Tensor:
    """What dropout multiplies by: zero with probability `rate`, else 1 / (1 - rate)."""
    if like.device.type != "cpu":
        return like.new_empty(shape).bernoulli_(1 - rate).div_(1 - rate)
    return (draw_bits(shape) >= least_kept(rate)).to(like.dtype).div_(1 - rate)


def draw_bits(shape: Sequence[int]) -> Tensor:
    """Whole numbers of 16 bits, all equally probable."""
    generator = np.random.SFC64(int(torch.randint(2**62, ())))
    words = generator.random_raw(-(-prod(shape) // PER_WORD)).view(np.int16)[: prod(shape)]
    return torch.from_numpy(words).view(*shape)


def least_kept(rate: float) -> int:
    """The smallest of these numbers that means: keep."""
    return round(rate * LEVELS) - LEVELS // 2


class Dropout(nn.Dropout):
    """Dropout of single numbers."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        if x.device.type != "cpu":
            return x * draw_kept(x.shape, self.p, x)
        return drop_numbers(x, draw_bits(x.shape), self.p)


def drop_numbers(x: Tensor, bits: Tensor, rate: float) -> Tensor:
    """Dropout by given bits."""
    dropped: Tensor = _Dropped.apply(x, bits, rate)  # type: ignore[no-untyped-call]
    return dropped


class _Dropped(torch.autograd.Function):
    """Y = X ⊙ M, and so is the gradient; the bits that decide on M are kept, at half the memory of M."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bits: Tensor, rate: float) -> Tensor:
        ctx.save_for_backward(bits)
        ctx.rate = rate
        return drop(x, bits, rate)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (bits,) = ctx.saved_tensors
        return drop(gradient, bits, ctx.rate), None, None


def drop(x: Tensor, bits: Tensor, rate: float) -> Tensor:
    """x with zeros where the bits are low, and 1 / (1 - rate) as large elsewhere."""
    scale, least = 1 / (1 - rate), least_kept(rate)
    if not has_loops(x):
        return torch.where(bits >= least, x * scale, 0)
    dropped = torch.empty_like(x, memory_format=torch.contiguous_format)
    call_loop("drop", x.dtype, x.numel(), bits, least, scale, x.contiguous(), dropped)
    return dropped


class VariationalDropout(nn.Module):
    """Dropout with one mask for all time steps of a sequence (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        return x * draw_kept((x.shape[0], 1, x.shape[2]), self.rate, x)  # (rows, time, dim)

    def drop_packed(self, tokens: Tensor, packing: Packing) -> Tensor:
        """The same of packed tokens, (tokens, dim)."""
        if not self.training or self.rate == 0.0:
            return tokens
        kept = draw_kept((len(packing.mask), tokens.shape[1]), self.rate, tokens)  # (rows, dim)
        return tokens * kept.index_select(0, packing.rows)
