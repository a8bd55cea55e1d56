"""Scores of kept spans with the spans before them (Lee et al. 2017), computed for a band of pairs at a time.

A pair's vector is [span; antecedent; span ∘ antecedent; features]. The products of the first layer with span
and antecedent are computed once per span. What remains, sum_d weight[h, d] span[d] antecedent[d], is a plain
matrix product once the weight is scaled by the span. So the vector of a pair is never built.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmo_bench.nn.compiled import call_loop, has_loops
from elmo_bench.nn.dropout import Dropout
from elmo_bench.nn.initialisation import make_embedding, make_tensorflow_linear
from elmo_bench.nn.products import multiply, multiply_with_gradient

ROWS_AT_ONCE = 16
BINS = (0, 1, 2, 3, 4, 5, 8, 16, 32, 64)  # the first distance of each, counted in kept spans


@dataclass(frozen=True)
class Band:
    """Consecutive spans and all that may come before any of them."""

    rows: slice
    columns: slice
    scores: Tensor  # (rows, columns); -inf where the column is no antecedent of the row


class AntecedentScorer(nn.Module):
    """The score of every pair of a span and one of the `reach` spans before it."""

    def __init__(self, dim: int, features: int, genres: int, hidden: int, reach: int, dropout: float) -> None:
        super().__init__()
        self.parts, self.reach = [dim, dim, dim, 3 * features], reach
        self.speakers = make_embedding(2, features)  # another's or the same
        self.genres = make_embedding(genres, features)
        self.distances = make_embedding(len(BINS), features)
        self.first = make_tensorflow_linear(sum(self.parts), hidden)
        self.second = make_tensorflow_linear(hidden, hidden)
        self.last = make_tensorflow_linear(hidden, 1)
        self.dropout = Dropout(dropout)

    def forward(self, spans: Tensor, mentions: Tensor, speakers: Tensor, genre: Tensor) -> Iterator[Band]:
        """From vectors (spans, dim), mention scores and speakers (spans,), and the document's genre ()."""
        # as matrices of their own: oneDNN takes seconds over a product with a slice of a wider one
        parts = [part.contiguous() for part in torch.split(self.first.weight, self.parts, dim=1)]
        of_span, of_antecedent, of_product, of_features = parts
        rows_part = multiply_with_gradient(spans, of_span, self.first.bias)  # (spans, hidden)
        columns_part = multiply_with_gradient(spans, of_antecedent)  # (spans, hidden)
        places = torch.arange(len(spans), device=spans.device)
        for start in range(0, len(spans), ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, len(spans)))
            columns = slice(max(0, start - self.reach), rows.stop)
            distances = places[rows] - places[columns].unsqueeze(1)  # (columns, rows)
            features = self._features(distances, speakers[rows] == speakers[columns].unsqueeze(1), genre)
            hidden = multiply_scaled(spans[rows], spans[columns], of_product)  # (columns, rows, hidden)
            hidden = hidden + columns_part[columns].unsqueeze(1) + rows_part[rows]
            told = multiply_with_gradient(features.flatten(0, 1), of_features).view(hidden.shape)
            hidden = self.dropout(torch.relu(hidden + told)).flatten(0, 1)
            hidden = multiply_with_gradient(hidden, self.second.weight, self.second.bias)
            scores = self.last(self.dropout(torch.relu(hidden))).view(distances.shape)  # (columns, rows)
            scores = scores.to(self.last.weight.dtype)  # their sums of exponentials need it under autocast
            scores = scores + mentions[rows] + mentions[columns].unsqueeze(1)
            far = (distances < 1) | (distances > self.reach)
            yield Band(rows, columns, scores.masked_fill(far, -math.inf).T)

    def _features(self, distances: Tensor, same_speaker: Tensor, genre: Tensor) -> Tensor:
        firsts = torch.tensor(BINS[1:], device=distances.device)
        bins = torch.bucketize(distances.clamp(min=0), firsts, right=True)  # (columns, rows)
        genres = self.genres(genre).expand(*distances.shape, -1)
        embedded = [self.speakers(same_speaker.long()), genres, self.distances(bins)]
        dropped: Tensor = self.dropout(torch.cat(embedded, dim=2))  # (columns, rows, 3 * features)
        return dropped


def multiply_scaled(left: Tensor, right: Tensor, weight: Tensor) -> Tensor:
    """sum_d left[r, d] right[c, d] weight[h, d] for all c, r and h: (columns, rows, hidden)."""
    product: Tensor = _ScaledProduct.apply(left, right, weight)  # type: ignore[no-untyped-call]
    return product.view(len(right), len(left), len(weight))


class _ScaledProduct(torch.autograd.Function):
    """The scaled weights are computed again in the backward pass: they are larger than all else together.

    S[(r, h), d] = left[r, d] weight[h, d], and the output is right S'. With G the gradient of the output:

    of right   G S
    of S       D = G' right
    of left    [r, d] = sum_h D[(r, h), d] weight[h, d]
    of weight  [h, d] = sum_r D[(r, h), d] left[r, d]
    """

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(left, right, weight)
        scaled = (left.unsqueeze(1) * weight).flatten(0, 1)  # (rows * hidden, dim)
        return multiply(right, scaled.T)  # (columns, rows * hidden)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        left, right, weight = ctx.saved_tensors
        scaled = (left.unsqueeze(1) * weight).flatten(0, 1)
        of_right = multiply(gradient, scaled)  # (columns, dim)
        of_scaled = multiply(gradient.T, right).view(len(left), len(weight), -1)  # (rows, hidden, dim)
        of_left, of_weight = scaled_gradients(of_scaled, left, weight)
        return of_left, of_right, of_weight


def scaled_gradients(of_scaled: Tensor, left: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of `left` and `weight` from that of their product, (rows, hidden, dim)."""
    if not has_loops(of_scaled):
        return (of_scaled * weight).sum(1), (of_scaled * left.unsqueeze(1)).sum(0)
    of_left, of_weight = torch.zeros_like(left), torch.zeros_like(weight)
    call_loop("scaled_gradients", left.dtype, *of_scaled.shape, of_scaled, left, weight, of_left, of_weight)
    return of_left, of_weight
