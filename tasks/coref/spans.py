"""Spans of a batch of documents: their scores as mentions, the selection of the best, and their vectors.

The first layer of the scorer is a sum over the components of a span's vector (Lee et al. 2017). Each
component is therefore multiplied once per token and gathered afterwards; only the kept spans get a whole
vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.nn.dropout import Dropout
from elmo_bench.nn.initialisation import make_embedding, make_tensorflow_linear


@dataclass(frozen=True)
class Spans:
    """Every span of a batch of documents, whose tokens are counted through all of its sentences."""

    starts: Tensor  # (spans,)
    ends: Tensor  # (spans,) the last token's number
    widths: Tensor  # (spans, features) embedded and dropped
    attention: Tensor  # (tokens, widths, offsets) of the head words, for a span's start and its width
    windows: Tensor  # (tokens, offsets) the tokens from each one on
    scores: Tensor  # (spans,) as mentions


class SpanScorer(nn.Module):
    """[first state; last state; width; head] of every span of a sentence, and how likely it is a mention."""

    def __init__(
        self, states: int, words: int, features: int, hidden: int, longest: int, dropout: float
    ) -> None:
        super().__init__()
        self.parts = [states, states, features, words]
        self.dim, self.longest = sum(self.parts), longest
        self.widths = make_embedding(longest, features)
        self.attend = make_tensorflow_linear(states, 1, bias=False)  # a softmax would not feel one
        self.first = make_tensorflow_linear(self.dim, hidden)
        self.second = make_tensorflow_linear(hidden, hidden)
        self.last = make_tensorflow_linear(hidden, 1)
        self.dropout = Dropout(dropout)

    def forward(self, states: Tensor, words: Tensor, left: Tensor) -> Spans:
        """(tokens, states), (tokens, words), and how many tokens each one's sentence has from it on."""
        widest = min(self.longest, int(left.max()))
        offsets = torch.arange(widest, device=left.device)
        starts, offset = (offsets < left.unsqueeze(1)).nonzero(as_tuple=True)  # (spans,)
        ends = starts + offset
        places = torch.arange(len(left), device=left.device).unsqueeze(1)
        windows = (places + offsets).clamp(max=len(left) - 1)  # (tokens, offsets)
        logits = self.attend(states).squeeze(1)[windows].unsqueeze(1)  # (tokens, 1, offsets)
        outside = offsets > offsets.unsqueeze(1)  # (widths, offsets)
        attention = logits.masked_fill(outside, -math.inf).softmax(dim=2)  # (tokens, widths, offsets)
        widths = self.dropout(self.widths(offset))  # (spans, features)
        of_start, of_end, of_width, of_head = torch.split(self.first.weight, self.parts, dim=1)
        heads = torch.bmm(attention, F.linear(words, of_head)[windows])  # (tokens, widths, hidden)
        hidden = F.linear(states, of_start)[starts] + F.linear(states, of_end)[ends]
        hidden = hidden + F.linear(widths, of_width, self.first.bias) + heads[starts, offset]
        hidden = self.dropout(torch.relu(hidden))  # (spans, hidden)
        hidden = self.dropout(torch.relu(self.second(hidden)))
        return Spans(starts, ends, widths, attention, windows, self.last(hidden).squeeze(1))

    @staticmethod
    def represent(spans: Spans, kept: Tensor, states: Tensor, words: Tensor) -> Tensor:
        """The whole vectors of some spans, (kept, dim)."""
        starts, ends = spans.starts[kept], spans.ends[kept]
        attention = spans.attention[starts, ends - starts].unsqueeze(1)  # (kept, 1, offsets)
        heads = torch.bmm(attention, words[spans.windows[starts]]).squeeze(1)  # (kept, words)
        return torch.cat([states[starts], states[ends], spans.widths[kept], heads], dim=1)


def keep_best(starts: list[int], ends: list[int], order: Iterable[int], count: int) -> list[int]:
    """Up to `count` of the spans, best first as `order` says, none crossing one before; by position."""
    kept: list[int] = []
    latest_end: dict[int, int] = {}  # of kept spans that start at a token
    earliest_start: dict[int, int] = {}  # of kept spans that end at a token
    for span in order:
        if len(kept) == count:
            break
        start, end = starts[span], ends[span]
        inside = range(start + 1, end + 1)
        if any(latest_end.get(token, -1) > end for token in inside):
            continue
        if any(earliest_start.get(token, start) < start for token in range(start, end)):
            continue
        kept.append(span)
        latest_end[start] = max(end, latest_end.get(start, -1))
        earliest_start[end] = min(start, earliest_start.get(end, start))
    return sorted(kept, key=lambda span: (starts[span], ends[span]))
