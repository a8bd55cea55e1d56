"""Dropout whose masks cost little on a CPU.

PyTorch draws ten nanoseconds for every number of a mask there, which was a fifth of a step of SNLI. Sixteen
bits of a fast generator, seeded by PyTorch's, decide as well in a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

CHANCES = 2**16  # what a rate is rounded to a fraction of
PER_WORD = 4  # decisions that a random word of 64 bits is enough for


def draw_kept(shape: Sequence[int], rate: float, like: Tensor) -> Tensor:
    """What dropout multiplies by: zero with probability `rate`, else 1 / (1 - rate)."""
    if like.device.type != "cpu":
        return like.new_empty(shape).bernoulli_(1 - rate).div_(1 - rate)
    generator = np.random.SFC64(int(torch.randint(2**62, ())))
    words = generator.random_raw(-(-prod(shape) // PER_WORD)).view(np.int16)[: prod(shape)]
    kept = torch.from_numpy(words).view(*shape) >= round(rate * CHANCES) - CHANCES // 2
    return kept.to(like.dtype).div_(1 - rate)


class Dropout(nn.Dropout):
    """Dropout of single numbers."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        return x * draw_kept(x.shape, self.p, x)


class VariationalDropout(nn.Module):
    """Dropout with one mask for all time steps of a sequence (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        return x * draw_kept((x.shape[0], 1, x.shape[2]), self.rate, x)  # (rows, time, dim)
