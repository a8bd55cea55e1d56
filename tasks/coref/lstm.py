"""The LSTM of Lee et al. (2017): the forget gate is 1 - the input gate, and the first state is learned."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from elmo_bench.nn.compiled import has_loops
from elmo_bench.nn.dropout import draw_kept
from elmo_bench.nn.initialisation import draw_glorot, draw_orthogonal
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.nn.scans import CompiledCoupledLstm, run_compiled


class CoupledBiLstm(nn.Module):
    """One bidirectional layer over left-aligned sequences of different lengths; zeros at padding."""

    def __init__(self, inputs: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dim = 2 * hidden
        self.left = CoupledLstm(inputs, hidden, dropout)
        self.right = CoupledLstm(inputs, hidden, dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(rows, time, inputs) and (rows, time) to (rows, time, 2 * hidden)."""
        packing = Packing.of(mask)
        tokens = packing.pack(x)  # (tokens, inputs)
        left = self.left(tokens, packing)  # (tokens, hidden)
        right = self.right(packing.turn(tokens), packing)
        states = torch.cat([left, packing.turn(right)], dim=1)
        return packing.unpack(states)  # (rows, time, 2 * hidden)


class CoupledLstm(nn.Module):
    """One direction; one dropout mask per sequence on the state that the next step reads."""

    def __init__(self, inputs: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.hidden, self.dropout = hidden, dropout
        # blocks: input gate, output gate, candidate
        self.enter = nn.Parameter(draw_glorot(torch.empty(3 * hidden, inputs)))
        self.recur = nn.Parameter(torch.empty(3 * hidden, hidden))
        draw_orthogonal(self.recur, blocks=3)
        # their program adds two biases, one of the input's product and one of the state's
        biases = [draw_glorot(torch.empty(3 * hidden)) for _ in range(2)]
        self.bias = nn.Parameter(biases[0] + biases[1])
        # state and cell before the first token: a matrix of one row each in their program
        self.first = nn.Parameter(torch.cat([draw_glorot(torch.empty(1, hidden)) for _ in range(2)]))

    def forward(self, tokens: Tensor, packing: Packing) -> Tensor:
        """(tokens, inputs) to (tokens, hidden), in the packing's order read as it comes."""
        kept = draw_kept((packing.sizes[0], self.hidden), self.dropout if self.training else 0.0, tokens)
        return run_coupled_lstm(tokens, packing, self.enter, self.recur, self.bias, self.first, kept)


def run_coupled_lstm(
    tokens: Tensor,
    packing: Packing,
    enter: Tensor,
    recurrent: Tensor,
    bias: Tensor,
    first: Tensor,
    kept: Tensor,
) -> Tensor:
    """The states, (tokens, hidden); the blocks of the weights are i, o, g.

    i, o, g = W x_t + b + U (m ⊙ h_{t-1})
    c_t = (1 - σ(i)) ⊙ c_{t-1} + σ(i) ⊙ tanh(g)
    h_t = σ(o) ⊙ tanh(c_t)

    The mask m, `kept` (rows, hidden) in the order of the packing, is that of variational dropout.
    """
    if has_loops(recurrent):
        return run_compiled(CompiledCoupledLstm, tokens, packing, enter, recurrent, bias, first, kept)
    return loop_coupled_lstm(tokens, packing, enter, recurrent, bias, first, kept)


def loop_coupled_lstm(
    tokens: Tensor,
    packing: Packing,
    enter: Tensor,
    recurrent: Tensor,
    bias: Tensor,
    first: Tensor,
    kept: Tensor,
) -> Tensor:
    """The same as a loop in Python, which is its definition."""
    gates = multiply_with_gradient(tokens, enter, bias)  # (tokens, 3 * hidden)
    states: list[Tensor] = []
    state, cell = first.unsqueeze(1).repeat(1, len(kept), 1)  # (rows, hidden) each
    for entered in packing.steps(gates):
        running = len(entered)  # rows
        sums = entered + multiply_with_gradient(state[:running] * kept[:running], recurrent)
        input_gate, output_gate, candidate = sums.chunk(3, dim=1)  # (running, hidden) each
        cell = torch.lerp(cell[:running], torch.tanh(candidate), torch.sigmoid(input_gate))
        state = torch.sigmoid(output_gate) * torch.tanh(cell)
        states.append(state)
    return torch.cat(states)
