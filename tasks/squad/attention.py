"""Attention between two texts (Seo et al. 2017) and within one text (Clark and Gardner 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.nn.initialisation import draw_glorot
from elmo_bench.nn.products import multiply_batches

MASKED_SCORE = (
    -1e30
)  # the score of what must not be attended to; finite, so that a row of nothing else is harmless


class TrilinearScore(nn.Module):
    """w_x · x + w_y · y + w_d · (x ∘ y) for every pair of words."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.of_x, self.of_y, self.of_both = (nn.Parameter(draw_glorot(torch.empty(dim))) for _ in range(3))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """(rows, time, dim) and (rows, other, dim) to the two parts of a score.

        The first, (rows, time), does not depend on y, so a softmax over y has no use for it; the second is
        (rows, time, other).
        """
        return x @ self.of_x, multiply_batches(x * self.of_both + self.of_y, y.transpose(1, 2))


class BiAttention(nn.Module):
    """Every word of a context with what it finds in the question, and the context seen from the question."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = 4 * dim
        # Clark and Gardner's bias is left out: a constant changes neither softmax
        self.score = TrilinearScore(dim)

    def forward(
        self, context: Tensor, context_mask: Tensor, question: Tensor, question_mask: Tensor
    ) -> Tensor:
        """[c; a; c ∘ a; c ∘ b], (rows, time, 4 * dim)."""
        alone, pairs = self.score(context, question)
        pairs = pairs.masked_fill(~question_mask.unsqueeze(1), MASKED_SCORE)  # (rows, time, question time)
        found = multiply_batches(pairs.softmax(2), question)  # a, (rows, time, dim)
        importance = (
            (alone + pairs.amax(2)).masked_fill(~context_mask, MASKED_SCORE).softmax(1)
        )  # (rows, time)
        seen = torch.bmm(importance.unsqueeze(1), context)  # b, (rows, 1, dim)
        return torch.cat([context, found, context * found, context * seen], dim=2)


class SelfAttention(nn.Module):
    """Every word with what it finds in the others, or in nothing: a learnt score shares the softmax."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = 3 * dim
        self.score = TrilinearScore(dim)
        self.bias = nn.Parameter(draw_glorot(torch.empty(())))
        self.nothing = nn.Parameter(torch.tensor(-1.0))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """[attended; x; attended ∘ x], (rows, time, 3 * dim)."""
        itself = torch.eye(x.shape[1], dtype=torch.bool, device=x.device)
        masked = ~mask.unsqueeze(1) | itself  # (rows, time, time)
        alone, pairs = self.score(x, x)
        # what all pairs of a word share is taken from the score of nothing instead
        nothing = (self.nothing - self.bias - alone).unsqueeze(2)  # (rows, time, 1)
        attention = torch.cat([pairs.masked_fill(masked, MASKED_SCORE), nothing], dim=2).softmax(2)
        attended = multiply_batches(attention, F.pad(x, (0, 0, 0, 1)))  # nothing is a vector of zeros
        return torch.cat([attended, x, attended * x], dim=2)
