"""LSTM layers written for speed on CPUs.

Sequences are packed (`packing`), so no step computes padding. Everything that does not depend on the state
is moved out of the loop over time: input products before it, all local derivatives before the loop of the
backward pass, and weight gradients as one product after it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmo_bench.nn.initialisation import draw_orthogonal, initialise_lstm
from elmo_bench.nn.packing import Packing, steps_of
from elmo_bench.nn.products import multiply, multiply_with_gradient


class BiLstm(nn.Module):
    """One bidirectional LSTM layer over left-aligned sequences of different lengths; zeros at padding."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.inputs, self.dim = inputs, 2 * hidden
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True, bidirectional=True)
        initialise_lstm(self.lstm)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(rows, time, inputs) and (rows, time) to (rows, time, 2 * hidden)."""
        return self.run_library(x, mask) if x.is_cuda else self.run_packed(x, mask)

    def run_library(self, x: Tensor, mask: Tensor) -> Tensor:
        """By torch's own LSTM, which has a fused kernel on GPUs only."""
        packed = pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.shape[1])
        return states  # (rows, time, 2 * hidden)

    def run_packed(self, x: Tensor, mask: Tensor) -> Tensor:
        """The same by hoisted products and a lean loop over time."""
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
        entered = multiply_with_gradient(tokens, self.enter)  # (tokens, 6 * hidden)
        gates, carried = entered[:, : -self.hidden] + self.bias, entered[:, -self.hidden :]
        kept = tokens.new_ones(packing.sizes[0], self.hidden)  # (rows, hidden), one mask for all steps
        if self.training and self.dropout:
            kept.bernoulli_(1 - self.dropout).div_(1 - self.dropout)
        return scan_highway_lstm(gates, carried, self.recur, kept, packing)


def scan_lstm(gates: Tensor, recurrent: Tensor, packing: Packing) -> Tensor:
    """The states of an LSTM, (tokens, hidden), from its input products i, f, g, o, (tokens, 4 * hidden)."""
    states: Tensor = _Lstm.apply(gates, recurrent, packing)  # type: ignore[no-untyped-call]
    return states


def scan_highway_lstm(
    gates: Tensor, carried: Tensor, recurrent: Tensor, kept: Tensor, packing: Packing
) -> Tensor:
    """The same with a highway connection: gates i, f, g, o, r, and what is carried past the cell.

    `kept` (rows, hidden), in the order of the packing, multiplies every new state: variational dropout.
    """
    states: Tensor = _HighwayLstm.apply(gates, carried, recurrent, kept, packing)  # type: ignore[no-untyped-call]
    return states


class _Lstm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, recurrent: Tensor, packing: Packing) -> Tensor:
        hidden = recurrent.shape[1]
        gates, weight = _double_candidate(gates, hidden), _double_candidate(recurrent.T, hidden)
        states, cells, bounded = (gates.new_empty(len(gates), hidden) for _ in range(3))
        before = None
        for now in steps_of(packing.sizes):
            _step_cell(gates, cells, bounded, weight, states, before, now)
            torch.mul(gates[now, 3 * hidden :], bounded[now], out=states[now])
            before = now
        ctx.packing = packing
        ctx.save_for_backward(gates, cells, bounded, states, recurrent)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        gates, cells, bounded, states, recurrent = ctx.saved_tensors
        opened = gates[:, 3 * recurrent.shape[1] :]
        local = _local_derivatives(gates, cells, ctx.packing)
        torch.mul(bounded, opened * (1 - opened), out=local[:, 3])
        through_cell = opened * (1 - bounded * bounded)
        _pull_back(gradient.clone(), local, through_cell, gates, recurrent, ctx.packing)
        return local.flatten(1), _weight_gradient(local, states, ctx.packing), None


class _HighwayLstm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, carried: Tensor, recurrent: Tensor, kept: Tensor, packing: Packing
    ) -> Tensor:
        hidden = recurrent.shape[1]
        gates, weight = _double_candidate(gates, hidden), _double_candidate(recurrent.T, hidden)
        states, cells, bounded = (gates.new_empty(len(gates), hidden) for _ in range(3))
        before = None
        for now in steps_of(packing.sizes):
            _step_cell(gates, cells, bounded, weight, states, before, now)
            opened, transformed = gates[now, 3 * hidden : 4 * hidden], gates[now, 4 * hidden :]
            state = torch.mul(opened, bounded[now], out=states[now]).sub_(carried[now])
            state.mul_(transformed).add_(carried[now]).mul_(kept[: len(state)])  # r o tanh(c) + (1 - r) k
            before = now
        ctx.packing = packing
        ctx.save_for_backward(gates, carried, cells, bounded, states, recurrent, kept)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        gates, carried, cells, bounded, states, recurrent, kept = ctx.saved_tensors
        opened, transformed = gates.unflatten(1, (5, -1))[:, 3:].unbind(1)
        keeping = torch.cat([kept[:size] for size in ctx.packing.sizes])  # (tokens, hidden)
        local = _local_derivatives(gates, cells, ctx.packing)
        torch.mul(keeping * transformed * bounded, opened * (1 - opened), out=local[:, 3])
        torch.mul(keeping * (opened * bounded - carried), transformed * (1 - transformed), out=local[:, 4])
        through_cell = keeping * transformed * opened * (1 - bounded * bounded)
        gradient = gradient.clone()
        _pull_back(gradient, local, through_cell, gates, recurrent, ctx.packing)
        past = gradient * keeping * (1 - transformed)
        return local.flatten(1), past, _weight_gradient(local, states, ctx.packing), None, None


def _double_candidate(gates: Tensor, hidden: int) -> Tensor:
    """A copy with the third block doubled: tanh(x) = 2 sigmoid(2x) - 1, so one sigmoid serves all gates."""
    doubled = gates.clone(memory_format=torch.contiguous_format)
    doubled[:, 2 * hidden : 3 * hidden].mul_(2)
    return doubled


def _step_cell(
    gates: Tensor,
    cells: Tensor,
    bounded: Tensor,
    weight: Tensor,
    states: Tensor,
    before: slice | None,
    now: slice,
) -> None:
    """Open the gates of one step, and fill in its cell and the cell's hyperbolic tangent."""
    hidden, size = cells.shape[1], now.stop - now.start
    opened = gates[now]  # (running rows, blocks * hidden)
    if before is not None:
        opened.add_(multiply(states[before][:size], weight))
    opened.sigmoid_()
    enter, forget, candidate = opened[:, : 3 * hidden].chunk(3, dim=1)
    candidate.mul_(2).sub_(1)
    cell = torch.mul(enter, candidate, out=cells[now])
    if before is not None:
        cell.addcmul_(forget, cells[before][:size])
    torch.mul(cell, 2, out=bounded[now]).sigmoid_().mul_(2).sub_(1)


def _local_derivatives(gates: Tensor, cells: Tensor, packing: Packing) -> Tensor:
    """What a unit of the cell's gradient is to i, f and g before their activations; further blocks open."""
    hidden = cells.shape[1]
    local = gates.new_empty(len(gates), gates.shape[1] // hidden, hidden)  # (tokens, blocks, hidden)
    enter, forget, candidate = gates[:, : 3 * hidden].chunk(3, dim=1)
    torch.mul(candidate, enter * (1 - enter), out=local[:, 0])
    first = packing.sizes[0]
    local[:first, 1] = 0  # no cell before the first step
    torch.mul(cells[packing.previous()], (forget * (1 - forget))[first:], out=local[first:, 1])
    torch.mul(enter, 1 - candidate * candidate, out=local[:, 2])
    return local


def _pull_back(
    gradient: Tensor, local: Tensor, through_cell: Tensor, gates: Tensor, recurrent: Tensor, packing: Packing
) -> None:
    """Turn local derivatives into gradients of the input products, and complete the states' gradient."""
    hidden = recurrent.shape[1]
    forget = gates[:, hidden : 2 * hidden]
    of_cell = gradient.new_zeros(packing.sizes[0], hidden)
    steps = steps_of(packing.sizes)
    for number in reversed(range(len(steps))):
        now, size = steps[number], packing.sizes[number]
        of_state, cell = gradient[now], of_cell[:size]
        cell.addcmul_(of_state, through_cell[now])
        local[now, :3].mul_(cell.unsqueeze(1))
        local[now, 3:].mul_(of_state.unsqueeze(1))
        if number:
            cell.mul_(forget[now])
            gradient[steps[number - 1]][:size].add_(multiply(local[now].flatten(1), recurrent))


def _weight_gradient(local: Tensor, states: Tensor, packing: Packing) -> Tensor:
    """The recurrent weight's gradient as one product over all tokens."""
    return multiply(local[packing.sizes[0] :].flatten(1).T, states[packing.previous()])
