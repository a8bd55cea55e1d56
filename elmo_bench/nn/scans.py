"""Recurrent layers of one direction with the compiled scans of `loops.c`, as differentiable functions.

`lstm.py`, the GRU of SQuAD and the LSTM of coreference have the equations, as loops in Python. Here the loop
over time is one call. Whatever does not depend on the state is a product over all tokens: the inputs before
the loop, and after the loop of the backward pass the gradients of inputs and weights.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from elmo_bench.nn.compiled import call_loop
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply, multiply_columns


def run_compiled(
    layer: type[torch.autograd.Function], tokens: Tensor, packing: Packing, *weights: Tensor | None
) -> Tensor:
    """The states of a layer, in the precision of its weights: float32 under autocast, too."""
    dtypes = [weight.dtype for weight in weights if weight is not None]
    states: Tensor = layer.apply(tokens.to(dtypes[0]), packing, *weights)  # type: ignore[no-untyped-call]
    return states


class CompiledLstm(torch.autograd.Function):
    """States (tokens, hidden) of an LSTM; with `kept` (rows, hidden), of a highway LSTM.

    Then `enter` has six blocks, of which the last, what is carried past the cell, has no bias, and every new
    state is multiplied by `kept`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        tokens: Tensor,
        packing: Packing,
        enter: Tensor,
        recurrent: Tensor,
        bias: Tensor,
        kept: Tensor | None,
    ) -> Tensor:
        gates = multiply(tokens, enter.T, F.pad(bias, (0, len(enter) - len(bias))))
        cells, bounded, states = (gates.new_empty(len(gates), recurrent.shape[1]) for _ in range(3))
        is_highway = kept is not None
        call("lstm_forward", packing, recurrent, is_highway, recurrent, kept, gates, cells, bounded, states)
        ctx.packing = packing
        ctx.save_for_backward(tokens, enter, recurrent, kept, gates, cells, bounded, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        tokens, enter, recurrent, kept, gates, cells, bounded, states = ctx.saved_tensors
        of_states = gradients[0].clone(memory_format=torch.contiguous_format)
        of_gates = torch.empty_like(gates)
        known = (recurrent, kept, gates, cells, bounded, of_states, of_gates)
        call("lstm_backward", ctx.packing, recurrent, kept is not None, *known)
        of_tokens = multiply(of_gates, enter) if ctx.needs_input_grad[0] else None
        of_enter, of_bias = multiply_columns(of_gates, tokens), of_gates.sum(0)
        of_recurrent = weight_gradient(of_gates, states, ctx.packing)
        count = len(recurrent)  # without what is carried
        return of_tokens, None, of_enter, of_recurrent[:count], of_bias[:count], None


class CompiledGru(torch.autograd.Function):
    """States (tokens, hidden) of a GRU; `after` is the bias of the recurrent products."""

    @staticmethod
    def forward(
        ctx: Any,
        tokens: Tensor,
        packing: Packing,
        enter: Tensor,
        recurrent: Tensor,
        bias: Tensor,
        after: Tensor,
    ) -> Tensor:
        gates = multiply(tokens, enter.T, bias)
        remembered, states = (gates.new_empty(len(gates), recurrent.shape[1]) for _ in range(2))
        call("gru_forward", packing, recurrent, recurrent, after, gates, remembered, states)
        ctx.packing = packing
        ctx.save_for_backward(tokens, enter, recurrent, gates, remembered, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        tokens, enter, recurrent, gates, remembered, states = ctx.saved_tensors
        of_states = gradients[0].clone(memory_format=torch.contiguous_format)
        of_gates, of_candidates = torch.empty_like(gates), torch.empty_like(states)
        known = (recurrent, gates, remembered, states, of_states, of_gates, of_candidates)
        call("gru_backward", ctx.packing, recurrent, *known)  # `of_gates` has those of the recurrent products
        of_recurrent, of_after = weight_gradient(of_gates, states, ctx.packing), of_gates.sum(0)
        of_gates[:, 2 * states.shape[1] :] = of_candidates
        of_tokens = multiply(of_gates, enter) if ctx.needs_input_grad[0] else None
        return of_tokens, None, multiply_columns(of_gates, tokens), of_recurrent, of_gates.sum(0), of_after


class CompiledCoupledLstm(torch.autograd.Function):
    """States (tokens, hidden) of a coupled LSTM; `first` (2, hidden) is its first state and cell."""

    @staticmethod
    def forward(
        ctx: Any,
        tokens: Tensor,
        packing: Packing,
        enter: Tensor,
        recurrent: Tensor,
        bias: Tensor,
        first: Tensor,
        kept: Tensor,
    ) -> Tensor:
        gates = multiply(tokens, enter.T, bias)
        cells, bounded, entering, states = (gates.new_empty(len(gates), recurrent.shape[1]) for _ in range(4))
        known = (recurrent, kept, first, gates, cells, bounded, entering, states)
        call("coupled_forward", packing, recurrent, *known)
        ctx.packing = packing
        ctx.save_for_backward(tokens, enter, recurrent, kept, first, gates, cells, bounded, entering)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        tokens, enter, recurrent, kept, first, gates, cells, bounded, entering = ctx.saved_tensors
        of_states = gradients[0].clone(memory_format=torch.contiguous_format)
        of_gates, of_first = torch.empty_like(gates), torch.zeros_like(first)
        known = (recurrent, kept, first, gates, cells, bounded, of_states, of_gates, of_first)
        call("coupled_backward", ctx.packing, recurrent, *known)
        of_tokens = multiply(of_gates, enter) if ctx.needs_input_grad[0] else None
        of_enter, of_recurrent = multiply_columns(of_gates, tokens), multiply_columns(of_gates, entering)
        return of_tokens, None, of_enter, of_recurrent, of_gates.sum(0), of_first, None


def call(name: str, packing: Packing, recurrent: Tensor, *arguments: Tensor | bool | None) -> None:
    """Call a compiled function; its first arguments are the steps, and the width of the states."""
    sizes = (ctypes.c_long * len(packing.sizes))(*packing.sizes)
    call_loop(name, recurrent.dtype, len(sizes), sizes, recurrent.shape[1], *arguments)


def weight_gradient(of_products: Tensor, states: Tensor, packing: Packing) -> Tensor:
    """The gradient of the recurrent weight, (blocks * hidden, hidden)."""
    return multiply_columns(of_products[packing.sizes[0] :], states.index_select(0, packing.previous))
