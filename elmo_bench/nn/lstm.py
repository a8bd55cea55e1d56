"""LSTM layers over packed sequences.

No step computes padding (`packing`), and the products with the inputs, which do not depend on the state, are
one product before the loop over time. That loop is compiled where there is a compiler (`compiled`); the loops
in Python say what it computes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from elmo_bench.nn.compiled import has_loops
from elmo_bench.nn.dropout import draw_kept
from elmo_bench.nn.initialisation import draw_orthogonal, initialise_lstm
from elmo_bench.nn.packing import Packing, run_library
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.nn.scans import CompiledLstm, run_compiled


class BiLstm(nn.Module):
    """One bidirectional LSTM layer over left-aligned sequences of different lengths; zeros at padding."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.inputs, self.dim = inputs, 2 * hidden
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True, bidirectional=True)
        initialise_lstm(self.lstm)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(rows, time, inputs) and (rows, time) to (rows, time, 2 * hidden)."""
        packing = Packing.of(mask)
        return packing.unpack(self.read(packing.pack(x), packing))

    def read(self, tokens: Tensor, packing: Packing) -> Tensor:
        """(tokens, inputs) to (tokens, 2 * hidden)."""
        if tokens.is_cuda:
            return packing.pack(run_library(self.lstm, packing.unpack(tokens), packing.mask))
        forwards, backwards = (weights[:3] for weights in self.lstm.all_weights)
        left = run_lstm(tokens, packing, *forwards)  # (tokens, hidden)
        right = run_lstm(packing.turn(tokens), packing, *backwards)
        return torch.cat([left, packing.turn(right)], dim=1)


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
        kept = draw_kept((packing.sizes[0], self.hidden), self.dropout if self.training else 0.0, tokens)
        return run_highway_lstm(tokens, packing, self.enter, self.recur, self.bias, kept)


def run_lstm(tokens: Tensor, packing: Packing, enter: Tensor, recurrent: Tensor, bias: Tensor) -> Tensor:
    """The states of an LSTM, (tokens, hidden); the blocks of its weights are i, f, g, o.

    i, f, g, o = W x_t + b + U h_{t-1}
    c_t = σ(f) ⊙ c_{t-1} + σ(i) ⊙ tanh(g)
    h_t = σ(o) ⊙ tanh(c_t)
    """
    if has_loops(recurrent):
        return run_compiled(CompiledLstm, tokens, packing, enter, recurrent, bias, None)
    return loop_lstm(tokens, packing, enter, recurrent, bias)


def loop_lstm(tokens: Tensor, packing: Packing, enter: Tensor, recurrent: Tensor, bias: Tensor) -> Tensor:
    """The same as a loop in Python, which is its definition."""
    gates = multiply_with_gradient(tokens, enter, bias)  # (tokens, 4 * hidden)
    states: list[Tensor] = []
    state = cell = gates.new_zeros(packing.sizes[0], recurrent.shape[1])
    for entered in packing.steps(gates):
        running = len(entered)  # rows
        sums = entered + multiply_with_gradient(state[:running], recurrent)
        input_gate, forget_gate, candidate, output_gate = sums.chunk(4, dim=1)  # (running, hidden) each
        cell = torch.sigmoid(forget_gate) * cell[:running] + torch.sigmoid(input_gate) * torch.tanh(candidate)
        state = torch.sigmoid(output_gate) * torch.tanh(cell)
        states.append(state)
    return torch.cat(states)


def run_highway_lstm(
    tokens: Tensor, packing: Packing, enter: Tensor, recurrent: Tensor, bias: Tensor, kept: Tensor
) -> Tensor:
    """The same with a highway connection: further blocks are the gate r, and k, which has x_t alone.

    h_t = m ⊙ (σ(r) ⊙ σ(o) ⊙ tanh(c_t) + (1 - σ(r)) ⊙ k_t)

    The mask m, `kept` (rows, hidden) in the order of the packing, is that of variational dropout.
    """
    if has_loops(recurrent):
        return run_compiled(CompiledLstm, tokens, packing, enter, recurrent, bias, kept)
    return loop_highway_lstm(tokens, packing, enter, recurrent, bias, kept)


def loop_highway_lstm(
    tokens: Tensor, packing: Packing, enter: Tensor, recurrent: Tensor, bias: Tensor, kept: Tensor
) -> Tensor:
    """The same as a loop in Python, which is its definition."""
    products = multiply_with_gradient(tokens, enter)  # (tokens, 6 * hidden)
    gates, carried = products[:, : len(recurrent)] + bias, products[:, len(recurrent) :]
    states: list[Tensor] = []
    state = cell = torch.zeros_like(kept)
    for entered, past in zip(packing.steps(gates), packing.steps(carried), strict=True):
        running = len(entered)  # rows
        sums = entered + multiply_with_gradient(state[:running], recurrent)
        # (running, hidden) each
        input_gate, forget_gate, candidate, output_gate, transform = sums.chunk(5, dim=1)
        cell = torch.sigmoid(forget_gate) * cell[:running] + torch.sigmoid(input_gate) * torch.tanh(candidate)
        through_cell = torch.sigmoid(output_gate) * torch.tanh(cell)
        state = kept[:running] * torch.lerp(past, through_cell, torch.sigmoid(transform))
        states.append(state)
    return torch.cat(states)
