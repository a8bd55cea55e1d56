"""The LSTM of Lee et al. (2017): the forget gate is 1 - the input gate, and the first state is learned."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmo_bench.nn.initialisation import draw_glorot, draw_orthogonal
from elmo_bench.nn.packing import Packing, steps_of
from elmo_bench.nn.products import multiply, multiply_with_gradient


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
        return packing.unpack(states, mask)  # (rows, time, 2 * hidden)


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
        gates = multiply_with_gradient(tokens, self.enter) + self.bias  # (tokens, 3 * hidden)
        kept = tokens.new_ones(packing.sizes[0], self.hidden)  # (rows, hidden)
        if self.training and self.dropout:
            kept.bernoulli_(1 - self.dropout).div_(1 - self.dropout)
        return scan_coupled_lstm(gates, self.recur, self.first, kept, packing)


def scan_coupled_lstm(
    gates: Tensor, recurrent: Tensor, first: Tensor, kept: Tensor, packing: Packing
) -> Tensor:
    """The states, (tokens, hidden), from the input products i, o, g, (tokens, 3 * hidden)."""
    states: Tensor = _CoupledLstm.apply(gates, recurrent, first, kept, packing)  # type: ignore[no-untyped-call]
    return states


class _CoupledLstm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, recurrent: Tensor, first: Tensor, kept: Tensor, packing: Packing
    ) -> Tensor:
        hidden = recurrent.shape[1]
        gates = gates.clone(memory_format=torch.contiguous_format)
        states, cells, bounded, read = (gates.new_empty(len(gates), hidden) for _ in range(4))
        state, cell = first[0].expand_as(kept), first[1].expand_as(kept)
        for now in steps_of(packing.sizes):
            size = now.stop - now.start
            torch.mul(state[:size], kept[:size], out=read[now])
            opened = gates[now].add_(multiply(read[now], recurrent.T))  # (running rows, 3 * hidden)
            opened[:, : 2 * hidden].sigmoid_()
            enter, leave, candidate = opened.chunk(3, dim=1)
            cell = torch.lerp(cell[:size], candidate.tanh_(), enter, out=cells[now])  # (1 - i) c + i g
            state = torch.mul(leave, torch.tanh(cell, out=bounded[now]), out=states[now])
        ctx.packing = packing
        ctx.save_for_backward(gates, recurrent, first, kept, cells, bounded, read)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        gates, recurrent, first, kept, cells, bounded, read = ctx.saved_tensors
        enter, leave, candidate = gates.chunk(3, dim=1)
        before = torch.cat([first[1].expand_as(kept), cells[ctx.packing.previous()]])  # (tokens, hidden)
        local = gates.new_empty(len(gates), 3, cells.shape[1])  # (tokens, blocks, hidden)
        torch.mul(candidate - before, enter * (1 - enter), out=local[:, 0])
        torch.mul(bounded, leave * (1 - leave), out=local[:, 1])
        torch.mul(enter, 1 - candidate * candidate, out=local[:, 2])
        through_cell, remaining = leave * (1 - bounded * bounded), 1 - enter
        gradient, of_cell = gradient.clone(), torch.zeros_like(kept)
        pulled = of_cell  # of the state that a step read
        steps = steps_of(ctx.packing.sizes)
        for number in reversed(range(len(steps))):
            now, size = steps[number], ctx.packing.sizes[number]
            of_state, cell = gradient[now], of_cell[:size]
            cell.addcmul_(of_state, through_cell[now])
            local[now, 0].mul_(cell)
            local[now, 1].mul_(of_state)
            local[now, 2].mul_(cell)
            cell.mul_(remaining[now])
            pulled = multiply(local[now].flatten(1), recurrent).mul_(kept[:size])
            if number:
                gradient[steps[number - 1]][:size].add_(pulled)
        of_first = torch.stack([pulled.sum(0), of_cell.sum(0)])
        return local.flatten(1), multiply(local.flatten(1).T, read), of_first, None, None
