"""A bidirectional GRU over packed sequences, in the manner of `elmo_bench.nn.lstm`.

The gates are in the order r, z, n, and r is applied after the recurrent product, as in cuDNN and nn.GRU.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from elmo_bench.nn.compiled import has_loops
from elmo_bench.nn.initialisation import draw_truncated_normal
from elmo_bench.nn.packing import Packing, run_library
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.nn.scans import CompiledGru, run_compiled


class BiGru(nn.Module):
    """One bidirectional GRU layer over left-aligned sequences of different lengths; zeros at padding."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.inputs, self.dim = inputs, 2 * hidden
        self.gru = nn.GRU(inputs, hidden, batch_first=True, bidirectional=True)
        for name, parameter in self.gru.named_parameters():
            if name.startswith("weight"):
                draw_truncated_normal(parameter, 0.05)  # as document-qa
            else:
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor, packing: Packing) -> Tensor:
        """(rows, time, inputs) to (rows, time, 2 * hidden)."""
        return run_library(self.gru, x, packing.mask) if x.is_cuda else self.run_packed(x, packing)

    def run_packed(self, x: Tensor, packing: Packing) -> Tensor:
        """Both directions over packed steps."""
        tokens = packing.pack(x)  # (tokens, inputs)
        forwards, backwards = self.gru.all_weights
        left = run_gru(tokens, packing, *forwards)  # (tokens, hidden)
        right = run_gru(packing.turn(tokens), packing, *backwards)
        return packing.unpack(torch.cat([left, packing.turn(right)], dim=1))  # (rows, time, 2 * hidden)


def run_gru(
    tokens: Tensor, packing: Packing, enter: Tensor, recurrent: Tensor, bias: Tensor, after: Tensor
) -> Tensor:
    """The states of a GRU, (tokens, hidden); the blocks of its weights are r, z, n.

    r, z = σ(W x_t + b + U h_{t-1} + a)
    n = tanh(W x_t + b + r ⊙ (U h_{t-1} + a))
    h_t = z ⊙ h_{t-1} + (1 - z) ⊙ n
    """
    if has_loops(recurrent):
        return run_compiled(CompiledGru, tokens, packing, enter, recurrent, bias, after)
    return loop_gru(tokens, packing, enter, recurrent, bias, after)


def loop_gru(
    tokens: Tensor, packing: Packing, enter: Tensor, recurrent: Tensor, bias: Tensor, after: Tensor
) -> Tensor:
    """The same as a loop in Python, which is its definition."""
    gates = multiply_with_gradient(tokens, enter, bias)  # (tokens, 3 * hidden)
    states: list[Tensor] = []
    state = gates.new_zeros(packing.sizes[0], recurrent.shape[1])
    for entered in packing.steps(gates):
        state = state[: len(entered)]  # rows that are still running
        product = multiply_with_gradient(state, recurrent, after)
        (reset, keep, candidate), (to_reset, to_keep, remembered) = (
            sums.chunk(3, dim=1) for sums in (entered, product)
        )
        candidate = torch.tanh(candidate + torch.sigmoid(reset + to_reset) * remembered)
        state = torch.lerp(candidate, state, torch.sigmoid(keep + to_keep))
        states.append(state)
    return torch.cat(states)
