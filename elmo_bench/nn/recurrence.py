"""Recurrent layers written for speed on CPUs: bulk products before and after the loop, a lean loop between.

Sequences are packed: sorted by falling length, one step after another, so no step computes padding.
Everything that does not depend on the state is hoisted out of the loop over time: input products before it,
all local derivatives before the loop of the backward pass, and weight gradients as one product after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from elmo_bench.nn.products import multiply


@dataclass(frozen=True)
class Packing:
    """Where the tokens of padded rows stand once sorted by falling length and cut into steps."""

    sizes: tuple[int, ...]  # rows that are still running at each step
    order: Tensor  # (rows,) numbers of the rows, longest first
    forwards: Tensor  # (tokens,) places among rows * time, reading left to right
    backwards: Tensor  # (tokens,) the same reading right to left
    turned: Tensor  # (tokens,) from the packed left-to-right order to right-to-left and back

    @classmethod
    def of(cls, mask: Tensor) -> Packing:
        """The packing of left-aligned rows, (rows, time) true at real tokens."""
        rows, time = mask.shape
        lengths, order = mask.sum(1).sort(descending=True, stable=True)  # (rows,)
        steps = torch.arange(int(lengths.max()), device=mask.device).unsqueeze(1)  # (time, 1)
        running = steps < lengths  # (time, rows)
        first = (order * time).expand_as(running)  # place of each row's first token
        forwards = (first + steps)[running]
        backwards = (first + lengths - 1 - steps)[running]
        packed_place = torch.empty(rows * time, dtype=torch.long, device=mask.device)
        packed_place[forwards] = torch.arange(len(forwards), device=mask.device)
        sizes = tuple(running.sum(1).tolist())
        return cls(sizes, order, forwards, backwards, packed_place[backwards])

    def pack(self, padded: Tensor) -> Tensor:
        """(rows, time, dim) to the real tokens in left-to-right order, (tokens, dim)."""
        return padded.flatten(0, 1).index_select(0, self.forwards)

    def unpack(self, packed: Tensor, mask: Tensor) -> Tensor:
        """Tokens in left-to-right order back to (rows, time, dim), zeros at padding."""
        padded = packed.new_zeros(mask.numel(), packed.shape[1]).index_copy(0, self.forwards, packed)
        return padded.view(*mask.shape, packed.shape[1])

    def turn(self, packed: Tensor) -> Tensor:
        """Packed tokens in the order of the other reading direction."""
        turned: Tensor = _Turn.apply(packed, self.turned)  # type: ignore[no-untyped-call]
        return turned

    def previous(self) -> Tensor:
        """For every token but those of the first step, where its predecessor stands in the packing."""
        places = torch.arange(self.sizes[0], len(self.forwards), device=self.order.device)
        sizes = torch.tensor(self.sizes, device=self.order.device)
        return places - sizes[:-1].repeat_interleave(sizes[1:])


class _Turn(torch.autograd.Function):
    """A permutation that undoes itself, and so does its gradient; torch would scatter into zeros."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, turned: Tensor) -> Tensor:
        ctx.turned = turned
        return packed.index_select(0, turned)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient.index_select(0, ctx.turned), None


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


def steps_of(sizes: tuple[int, ...]) -> list[slice]:
    """The packed tokens of every step."""
    return [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]


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
