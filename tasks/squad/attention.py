"""Attention between two texts (Seo et al. 2017) and within one text (Clark and Gardner 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from elmo_bench.nn.initialisation import draw_glorot

HIDDEN = -1e30  # the score of what must not be attended to; finite, so that a row of nothing else is harmless


class TrilinearScore(nn.Module):
    """w_x · x + w_y · y + w_d · (x ∘ y) for every pair of words."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.of_x, self.of_y, self.of_both = (nn.Parameter(draw_glorot(torch.empty(dim))) for _ in range(3))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """(rows, time, dim) and (rows, other, dim) to (rows, time, other)."""
        alone = (x @ self.of_x).unsqueeze(2)  # (rows, time, 1)
        return torch.baddbmm(alone, x * self.of_both + self.of_y, y.transpose(1, 2))


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
        scores = self.score(context, question).masked_fill(~question_mask.unsqueeze(1), HIDDEN)
        found = torch.bmm(scores.softmax(2), question)  # a, (rows, time, dim)
        told = scores.amax(2).masked_fill(~context_mask, HIDDEN).softmax(1)  # (rows, time)
        seen = torch.bmm(told.unsqueeze(1), context)  # b, (rows, 1, dim)
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
        hidden = ~mask.unsqueeze(1) | itself  # (rows, time, time)
        scores = (self.score(x, x) + self.bias).masked_fill(hidden, HIDDEN)
        total = torch.logaddexp(scores.logsumexp(2, keepdim=True), self.nothing)  # (rows, time, 1)
        attended = torch.bmm((scores - total).exp(), x)  # (rows, time, dim)
        return torch.cat([attended, x, attended * x], dim=2)
