"""A bidirectional GRU written for speed on CPUs: both directions run in one loop over time.

The gates are in the order r, z, n, and r is applied after the recurrent product, as in cuDNN and nn.GRU.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmo_bench.nn.initialisation import draw_truncated_normal
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply_with_gradient


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
        return self.run_library(x, mask) if x.is_cuda else self.run_packed(x, mask)

    def run_library(self, x: Tensor, mask: Tensor) -> Tensor:
        """By torch's own GRU, which has a fused kernel on GPUs only."""
        packed = pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=x.shape[1])
        return states  # (rows, time, 2 * hidden)

    def run_packed(self, x: Tensor, mask: Tensor) -> Tensor:
        """The same by hoisted products and a lean loop over time."""
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
    """
    states: Tensor = _Gru.apply(gates, recurrent, bias, packing)  # type: ignore[no-untyped-call]
    return states


class _Gru(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, recurrent: Tensor, bias: Tensor, packing: Packing) -> Tensor:
        directions, tokens, hidden = len(gates), gates.shape[1], recurrent.shape[2]
        gates = gates.clone(memory_format=torch.contiguous_format)
        weight = recurrent.transpose(1, 2).contiguous()  # (directions, hidden, 3 * hidden)
        states, remembered = (gates.new_empty(directions, tokens, hidden) for _ in range(2))
        state = gates.new_zeros(directions, packing.sizes[0], hidden)
        for size, end in zip(packing.sizes, accumulate(packing.sizes), strict=True):
            now = slice(end - size, end)
            state = state[:, :size]
            product = torch.baddbmm(bias.unsqueeze(1), state, weight)  # (directions, rows, 3 * hidden)
            opened = gates[:, now, : 2 * hidden]
            opened.add_(product[:, :, : 2 * hidden]).sigmoid_()
            reset, keep = opened.chunk(2, dim=2)
            remembered[:, now] = product[:, :, 2 * hidden :]
            candidate = gates[:, now, 2 * hidden :].addcmul_(reset, product[:, :, 2 * hidden :]).tanh_()
            state = torch.lerp(candidate, state, keep)  # z h + (1 - z) n
            states[:, now] = state
        ctx.packing = packing
        ctx.save_for_backward(gates, remembered, states, recurrent)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        gates, remembered, states, recurrent = ctx.saved_tensors
        packing: Packing = ctx.packing
        first = packing.sizes[0]
        reset, keep, candidate = gates.chunk(3, dim=2)
        before = torch.zeros_like(states)
        before[:, first:] = states[:, packing.previous()]
        # what a unit of the state's gradient is to the candidate, and to the recurrent products of r, z, n
        of_candidate = (1 - keep) * (1 - candidate * candidate)
        local = gates.new_empty(*gates.shape[:2], 3, states.shape[2])  # (directions, tokens, 3, hidden)
        torch.mul(of_candidate * remembered, reset * (1 - reset), out=local[:, :, 0])
        torch.mul(before - candidate, keep * (1 - keep), out=local[:, :, 1])
        torch.mul(of_candidate, reset, out=local[:, :, 2])
        gradient = gradient.clone()
        _pull_back(gradient, local, keep, recurrent, packing)
        of_bias = local.sum(1).flatten(1)
        of_recurrent = torch.bmm(local[:, first:].flatten(2).transpose(1, 2), before[:, first:])
        torch.mul(gradient, of_candidate, out=local[:, :, 2])
        return local.flatten(2), of_recurrent, of_bias, None


def _pull_back(gradient: Tensor, local: Tensor, keep: Tensor, recurrent: Tensor, packing: Packing) -> None:
    """Turn local derivatives into gradients of the recurrent products, and complete the states' gradient."""
    ends = list(accumulate(packing.sizes))
    for number in reversed(range(len(ends))):
        size, now = packing.sizes[number], slice(ends[number] - packing.sizes[number], ends[number])
        of_state = gradient[:, now]
        local[:, now].mul_(of_state.unsqueeze(2))
        if number:
            start = ends[number - 1] - packing.sizes[number - 1]
            earlier = gradient[:, start : start + size]
            earlier.addcmul_(of_state, keep[:, now])
            earlier.add_(torch.bmm(local[:, now].flatten(2), recurrent))
