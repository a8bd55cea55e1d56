"""A bidirectional GRU over packed sequences: both directions run in one loop over time.

The gates are in the order r, z, n, and r is applied after the recurrent product, as in cuDNN and nn.GRU.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from elmo_bench.nn.compiled import has_scans
from elmo_bench.nn.initialisation import draw_truncated_normal
from elmo_bench.nn.packing import Packing, run_library
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.nn.scans import GruScan


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

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(rows, time, inputs) and (rows, time) to (rows, time, 2 * hidden)."""
        return run_library(self.gru, x, mask) if x.is_cuda else self.run_packed(x, mask)

    def run_packed(self, x: Tensor, mask: Tensor) -> Tensor:
        """With one product for all inputs, and a loop over packed steps."""
        packing = Packing.of(mask)
        tokens = packing.pack(x)  # (tokens, inputs)
        (enter, recur, bias, after), (enter_back, recur_back, bias_back, after_back) = self.gru.all_weights
        left = multiply_with_gradient(tokens, enter) + bias  # (tokens, 3 * hidden)
        right = packing.turn(multiply_with_gradient(tokens, enter_back) + bias_back)
        gates = torch.stack([left, right])  # (2, tokens, 3 * hidden)
        states = scan_gru(gates, torch.stack([recur, recur_back]), torch.stack([after, after_back]), packing)
        both = torch.cat([states[0], packing.turn(states[1])], dim=1)
        return packing.unpack(both, mask)  # (rows, time, 2 * hidden)


def scan_gru(gates: Tensor, recurrent: Tensor, bias: Tensor, packing: Packing) -> Tensor:
    """The states of GRUs side by side, (directions, tokens, hidden), each in its own order of reading.

    `gates` (directions, tokens, 3 * hidden) are the input products; `recurrent` (directions, 3 * hidden,
    hidden) and `bias` (directions, 3 * hidden) belong to the state.

    r, z = σ(gates_t + U h_{t-1} + b)
    n = tanh(gates_t + r ⊙ (U h_{t-1} + b))
    h_t = z ⊙ h_{t-1} + (1 - z) ⊙ n
    """
    if has_scans(gates, recurrent, bias):
        scanned = [
            GruScan.apply(*direction, packing)  # type: ignore[no-untyped-call]
            for direction in zip(gates, recurrent, bias, strict=True)
        ]
        return torch.stack(scanned)
    weight = recurrent.transpose(1, 2).contiguous()  # (directions, hidden, 3 * hidden)
    states: list[Tensor] = []
    state = gates.new_zeros(len(gates), packing.sizes[0], recurrent.shape[2])
    for entered in torch.split(gates, list(packing.sizes), dim=1):
        state = state[:, : entered.shape[1]]
        product = torch.baddbmm(bias.unsqueeze(1), state, weight)  # (directions, running rows, 3 * hidden)
        (reset, keep, candidate), (to_reset, to_keep, remembered) = (
            sums.chunk(3, dim=2) for sums in (entered, product)
        )
        candidate = torch.tanh(candidate + torch.sigmoid(reset + to_reset) * remembered)
        state = torch.lerp(candidate, state, torch.sigmoid(keep + to_keep))
        states.append(state)
    return torch.cat(states, dim=1)
