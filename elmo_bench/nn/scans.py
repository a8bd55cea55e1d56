"""The compiled scans of `scans.c` as differentiable functions of tensors.

Each computes all time steps of one layer in one direction. The recurrent weight's gradient is one product
over all tokens after the loop. `lstm.py` and the GRU of SQuAD have the equations, as loops in Python.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from elmo_bench.nn.compiled import load_scans
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply


class LstmScan(torch.autograd.Function):
    """States (tokens, hidden) of an LSTM from its input products, (tokens, 4 * hidden).

    With `kept` (rows, hidden), a mask on every new state, it is a highway LSTM: (tokens, 6 * hidden), where the
    last two blocks are the transform gate and what is carried.
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, recurrent: Tensor, kept: Tensor | None, packing: Packing) -> Tensor:
        gates, recurrent = gates.clone(memory_format=torch.contiguous_format), recurrent.contiguous()
        cells, bounded, states = gates.new_empty(3, len(gates), recurrent.shape[1])
        call("lstm_forward", packing, recurrent, kept is not None, recurrent, kept, gates, cells, bounded, states)
        ctx.packing, ctx.kept = packing, kept
        ctx.save_for_backward(gates, cells, bounded, states, recurrent)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        gates, cells, bounded, states, recurrent = ctx.saved_tensors
        packing, kept = ctx.packing, ctx.kept
        of_states = gradient.clone(memory_format=torch.contiguous_format)
        of_gates = torch.empty_like(gates)
        known = (recurrent, kept, gates, cells, bounded, of_states, of_gates)
        call("lstm_backward", packing, recurrent, kept is not None, *known)
        of_recurrent = weight_gradient(of_gates, states, packing)[: len(recurrent)]
        return of_gates, of_recurrent, None, None


class GruScan(torch.autograd.Function):
    """States (tokens, hidden) of a GRU from its input products, (tokens, 3 * hidden)."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, recurrent: Tensor, bias: Tensor, packing: Packing) -> Tensor:
        gates, recurrent = gates.clone(memory_format=torch.contiguous_format), recurrent.contiguous()
        remembered, states = gates.new_empty(2, len(gates), recurrent.shape[1])
        call("gru_forward", packing, recurrent, recurrent, bias.contiguous(), gates, remembered, states)
        ctx.packing = packing
        ctx.save_for_backward(gates, remembered, states, recurrent)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        gates, remembered, states, recurrent = ctx.saved_tensors
        of_states = gradient.clone(memory_format=torch.contiguous_format)
        of_products, of_candidates = torch.empty_like(gates), torch.empty_like(states)
        known = (recurrent, gates, remembered, states, of_states, of_products, of_candidates)
        call("gru_backward", ctx.packing, recurrent, *known)
        of_recurrent = weight_gradient(of_products, states, ctx.packing)
        of_bias = of_products.sum(0)
        of_products[:, 2 * states.shape[1] :] = of_candidates
        return of_products, of_recurrent, of_bias, None


def call(name: str, packing: Packing, recurrent: Tensor, *arguments: Tensor | bool | None) -> None:
    """Call a compiled function; its first arguments are the steps, and the width of the states."""
    scans = load_scans(recurrent.dtype)
    assert scans is not None
    sizes = (ctypes.c_long * len(packing.sizes))(*packing.sizes)
    passed = [
        ctypes.c_void_p(argument.data_ptr()) if isinstance(argument, Tensor) else argument
        for argument in arguments
    ]
    getattr(scans, name)(ctypes.c_long(len(sizes)), sizes, ctypes.c_long(recurrent.shape[1]), *passed)


def weight_gradient(of_products: Tensor, states: Tensor, packing: Packing) -> Tensor:
    """The gradient of the recurrent weight, (blocks * hidden, hidden), by one product over all tokens."""
    return multiply(of_products[packing.sizes[0] :].T, states.index_select(0, packing.previous))
