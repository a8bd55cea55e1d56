"""LSTM layers over packed sequences.

No step computes padding (`packing`), and the products with the inputs, which do not depend on the state, are
one product before the loop over time. On CPUs both are about twice as fast as `nn.LSTM`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.nn.compiled import has_scans
from elmo_bench.nn.initialisation import draw_orthogonal, initialise_lstm
from elmo_bench.nn.packing import Packing, run_library
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.nn.scans import LstmScan


class BiLstm(nn.Module):
    """One bidirectional LSTM layer over left-aligned sequences of different lengths; zeros at padding."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.inputs, self.dim = inputs, 2 * hidden
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True, bidirectional=True)
        initialise_lstm(self.lstm)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(rows, time, inputs) and (rows, time) to (rows, time, 2 * hidden)."""
        return run_library(self.lstm, x, mask) if x.is_cuda else self.run_packed(x, mask)

    def run_packed(self, x: Tensor, mask: Tensor) -> Tensor:
        """With one product for all inputs, and a loop over packed steps."""
        packing = Packing.of(mask)
        tokens = packing.pack(x)  # (tokens, inputs)
        (enter, recur, bias, _), (enter_back, recur_back, bias_back, _) = self.lstm.all_weights
        left = multiply_with_gradient(tokens, enter) + bias  # (tokens, 4 * hidden)
        right = multiply_with_gradient(tokens, enter_back) + bias_back
        left = scan_lstm(left, recur, packing)  # (tokens, hidden)
        right = scan_lstm(packing.turn(right), recur_back, packing)
        states = torch.cat([left, packing.turn(right)], dim=1)
        return packing.unpack(states, mask)  # (rows, time, 2 * hidden)


class HighwayLstm(nn.Module):
    """One LSTM layer of one direction whose states may pass the cell by (Zhang et al. 2016)."""

    def __init__(self, inputs: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.hidden, self.dropout = hidden, dropout
        # blocks i, f, g, o, r, and what is carried past the cell, which the state has no part in
        self.enter = nn.Parameter(torch.empty(6 * hidden, inputs))
        self.recur = nn.Parameter(torch.empty(5 * hidden, hidden))
        self.bias = nn.Parameter(torch.zeros(5 * hidden))
        draw_orthogonal(self.enter, blocks=6)
        draw_orthogonal(self.recur, blocks=5)
        nn.init.ones_(self.bias.data.chunk(5)[1])  # the forget gate's

    def forward(self, tokens: Tensor, packing: Packing) -> Tensor:
        """(tokens, inputs) to (tokens, hidden), in the packing's order read as it comes."""
        bias = F.pad(self.bias, (0, self.hidden))  # what is carried has none
        entered = multiply_with_gradient(tokens, self.enter) + bias  # (tokens, 6 * hidden)
        kept = draw_kept(tokens, packing, self.hidden, self.dropout if self.training else 0.0)
        return scan_highway_lstm(entered, self.recur, kept, packing)


def draw_kept(tokens: Tensor, packing: Packing, hidden: int, dropout: float) -> Tensor:
    """A mask of variational dropout, one for all steps of a row, (rows, hidden) in the packing's order."""
    kept = tokens.new_ones(packing.sizes[0], hidden)
    if dropout:
        kept.bernoulli_(1 - dropout).div_(1 - dropout)
    return kept


def scan_lstm(gates: Tensor, recurrent: Tensor, packing: Packing) -> Tensor:
    """The states of an LSTM, (tokens, hidden), from its input products i, f, g, o, (tokens, 4 * hidden).

    i, f, g, o = gates_t + U h_{t-1}
    c_t = σ(f) ⊙ c_{t-1} + σ(i) ⊙ tanh(g)
    h_t = σ(o) ⊙ tanh(c_t)
    """
    if has_scans(gates, recurrent):
        compiled: Tensor = LstmScan.apply(gates, recurrent, None, packing)  # type: ignore[no-untyped-call]
        return compiled
    states: list[Tensor] = []
    state = cell = gates.new_zeros(packing.sizes[0], recurrent.shape[1])
    for entered in packing.steps(gates):
        running = len(entered)  # rows
        sums = entered + multiply_with_gradient(state[:running], recurrent)
        enter, forget, candidate, leave = sums.chunk(4, dim=1)  # (running, hidden) each
        cell = torch.sigmoid(forget) * cell[:running] + torch.sigmoid(enter) * torch.tanh(candidate)
        state = torch.sigmoid(leave) * torch.tanh(cell)
        states.append(state)
    return torch.cat(states)


def scan_highway_lstm(gates: Tensor, recurrent: Tensor, kept: Tensor, packing: Packing) -> Tensor:
    """The same with a highway connection: gates i, f, g, o, r and k, which is carried past the cell.

    h_t = m ⊙ (σ(r) ⊙ σ(o) ⊙ tanh(c_t) + (1 - σ(r)) ⊙ k_t)

    The mask m, `kept` (rows, hidden) in the order of the packing, is that of variational dropout.
    """
    if has_scans(gates, recurrent, kept):
        compiled: Tensor = LstmScan.apply(gates, recurrent, kept, packing)  # type: ignore[no-untyped-call]
        return compiled
    states: list[Tensor] = []
    state = cell = torch.zeros_like(kept)
    for products in packing.steps(gates):
        running = len(products)  # rows
        entered, past = products[:, : len(recurrent)], products[:, len(recurrent) :]
        sums = entered + multiply_with_gradient(state[:running], recurrent)
        enter, forget, candidate, leave, transform = sums.chunk(5, dim=1)  # (running, hidden) each
        cell = torch.sigmoid(forget) * cell[:running] + torch.sigmoid(enter) * torch.tanh(candidate)
        through_cell = torch.sigmoid(leave) * torch.tanh(cell)
        state = kept[:running] * torch.lerp(past, through_cell, torch.sigmoid(transform))
        states.append(state)
    return torch.cat(states)
