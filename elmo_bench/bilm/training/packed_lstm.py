"""An LSTM layer run over packed sequences as one differentiable operation: the fast way to train.

Packed means time-major without padding: rows stand by falling length, step t holds the first `counts[t]`
rows, and the steps follow one another. The product with the inputs is hoisted out of the loop, the loop
leaves no autograd nodes behind, and each weight's gradient is one product after the backward loop. The two
directions of a biLM are one operation, so that two threads can run them side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from elmo_bench.bilm.model import LstmStack, ProjectedLstm, State
from elmo_bench.bilm.training.arithmetic import PLAIN, Arithmetic
from elmo_bench.nn.workers import run_side_by_side

Module = TypeVar("Module")
Before = TypeVar("Before", covariant=True)


@dataclass(frozen=True)
class Direction(Generic[Module, Before]):
    """A stack or a layer, and what it runs over."""

    module: Module
    inputs: Tensor  # (tokens, dim), packed
    counts: Sequence[int]
    state: Before | None = None  # before the first step; None: zero


def run_stacks_packed(
    directions: Sequence[Direction[LstmStack, Sequence[State]]],
    dropout: float = 0.0,
    arithmetic: Arithmetic = PLAIN,
) -> list[tuple[Tensor, list[State]]]:
    """Every direction's top output (tokens, dim) and every layer's last state; equals `LstmStack`.

    The stacks have the same number of layers.
    """
    masks = [list(_draw_masks(direction, dropout)) for direction in directions]
    inputs = [direction.inputs for direction in directions]
    last_states: list[list[State]] = [[] for _ in directions]
    for index in range(len(directions[0].module.layers)):
        layers = []
        for number, direction in enumerate(directions):
            layer = direction.module.layers[index]
            assert isinstance(layer, ProjectedLstm)
            inputs[number] = _drop(inputs[number], masks[number][index])
            state = None if direction.state is None else direction.state[index]
            layers.append(Direction(layer, inputs[number], direction.counts, state))
        for number, (outputs, last_state) in enumerate(run_layers_packed(layers, arithmetic)):
            skips = directions[number].module.use_skip_connections and index > 0
            inputs[number] = outputs + inputs[number] if skips else outputs
            last_states[number].append(last_state)
    tops = [_drop(outputs, drawn[-1]) for outputs, drawn in zip(inputs, masks, strict=True)]
    return list(zip(tops, last_states, strict=True))


def _draw_masks(direction: Direction[LstmStack, Any], dropout: float) -> Iterator[Tensor | None]:
    """One for the inputs of every layer, which are as wide as the outputs, and one for the top output."""
    for _ in range(len(direction.module.layers) + 1):
        is_dropped = direction.module.training and dropout > 0
        yield F.dropout(torch.ones_like(direction.inputs), dropout) if is_dropped else None


def _drop(inputs: Tensor, mask: Tensor | None) -> Tensor:
    return inputs if mask is None else inputs * mask


def run_layers_packed(
    directions: Sequence[Direction[ProjectedLstm, State]], arithmetic: Arithmetic = PLAIN
) -> list[tuple[Tensor, State]]:
    """Every direction's outputs (tokens, dim), and the detached state after its last step."""
    settings, given = [], []
    for direction in directions:
        layer, counts = direction.module, direction.counts
        starts = accumulate(counts, initial=0)
        steps = tuple(slice(start, start + rows) for start, rows in zip(starts, counts, strict=False))
        state = layer.zero_state(counts[0]) if direction.state is None else direction.state
        keeps = torch.is_grad_enabled()
        settings.append(_Setting(steps, state, layer.cell_clip, layer.projection_clip, arithmetic, keeps))
        given.append(
            _Given(
                direction.inputs,
                layer.input_weight,
                layer.state_weight,
                layer.gate_bias,
                layer.projection_weight,
            )
        )
    flat = [tensor for one in given for tensor in one]
    results = _PackedRecurrence.apply(settings, *flat)  # type: ignore[no-untyped-call]
    return [
        (outputs, (outputs[setting.steps[-1]].detach(), cell))
        for setting, outputs, cell in zip(settings, results[::2], results[1::2], strict=True)
    ]


@dataclass(frozen=True)
class _Setting:
    steps: tuple[slice, ...]  # where each step lies in the packed tokens
    state: State  # before the first step
    cell_clip: float | None
    projection_clip: float | None
    arithmetic: Arithmetic  # its type is also that of what is kept for the backward pass
    keeps: bool  # whether a backward pass may follow


class _Given(NamedTuple):
    """What one direction gets; its gradients have the same order."""

    inputs: Tensor  # (tokens, dim)
    input_weight: Tensor
    state_weight: Tensor
    bias: Tensor
    projection_weight: Tensor | None


class _Kept(NamedTuple):
    """What one direction keeps for its backward pass, the tensors of `_Trace` after it."""

    inputs: Tensor  # in the type of products
    input_weight: Tensor
    state_weight: Tensor
    projection_weight: Tensor | None
    outputs: Tensor


class _PackedRecurrence(torch.autograd.Function):
    """The loop over steps and its derivative; the initial state gets no gradient (truncated at the batch).

    With a_t = W x_t + U h_{t-1} + b the sums of the gates, i = σ(a_i), f = σ(a_f), g = tanh(a_g), o = σ(a_o):

    c_t = clip(f ⊙ c_{t-1} + i ⊙ g)
    r_t = o ⊙ tanh(c_t)
    h_t = clip(W_P r_t)

    δ is the gradient of the loss. It runs from the last step to the first, where δh_t and δc_t hold what
    later steps have added to them, and is zero for what a clip has cut:

    δr_t = W_P' δh_t
    δc_t += δr_t ⊙ o ⊙ (1 - tanh²(c_t))
    δa_i = δc_t ⊙ g ⊙ i ⊙ (1 - i)
    δa_f = δc_t ⊙ c_{t-1} ⊙ f ⊙ (1 - f)
    δa_g = δc_t ⊙ i ⊙ (1 - g²)
    δa_o = δr_t ⊙ tanh(c_t) ⊙ o ⊙ (1 - o)
    δc_{t-1} = δc_t ⊙ f
    δh_{t-1} += U' δa_t

    The factors of δc_t and δr_t do not depend on δ: the forward pass keeps them (`_Trace`). Gradients of
    weights and inputs need no loop: δW = sum_t δa_t x_t', δU = sum_t δa_t h_{t-1}', δb = sum_t δa_t,
    δW_P = sum_t δh_t r_t', δx_t = W' δa_t.
    """

    @staticmethod
    def forward(ctx: Any, settings: Sequence[_Setting], *flat: Tensor | None) -> tuple[Tensor, ...]:
        given = [_Given(*part) for part in _split(flat, len(settings))]
        runs = [partial(_run, *each) for each in zip(given, settings, strict=True)]
        results = run_side_by_side(runs, given[0].inputs.device)
        ctx.save_for_backward(*(tensor for _, _, kept in results for tensor in kept))
        ctx.settings = settings
        ctx.mark_non_differentiable(*(cell for _, cell, _ in results))
        return tuple(tensor for outputs, cell, _ in results for tensor in (outputs, cell))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *at_results: Tensor) -> tuple[Tensor | None, ...]:
        kept = _split(ctx.saved_tensors, len(ctx.settings))
        at_outputs = at_results[::2]  # no gradient enters at the cells
        runs = [partial(_differentiate, *each) for each in zip(at_outputs, kept, ctx.settings, strict=True)]
        gradients = run_side_by_side(runs, at_outputs[0].device)
        return None, *(gradient for direction in gradients for gradient in direction)


def _split(flat: Sequence[Any], count: int) -> list[Sequence[Any]]:
    size = len(flat) // count
    return [flat[start : start + size] for start in range(0, len(flat), size)]


@dataclass(frozen=True)
class _Trace:
    """What the backward loop needs of every step, multiplied out while the step is in the cache."""

    previous: Tensor  # (tokens, dim): the projected state a step starts from
    raw: Tensor  # (tokens, cell_dim): the output before its projection
    slopes: Tensor  # (tokens, 4 * cell_dim): of gate sums by the cell; the exit gate's by the raw output
    openings: Tensor  # (tokens, cell_dim): of the cell by the raw output
    decays: Tensor  # (tokens, cell_dim): of the cell before by the cell

    @classmethod
    def like(cls, gates: Tensor, state: State) -> _Trace:
        tokens, cell_dim = len(gates), state[1].shape[1]
        raw, openings, decays = (gates.new_empty(tokens, cell_dim) for _ in range(3))
        return cls(gates.new_empty(tokens, state[0].shape[1]), raw, torch.empty_like(gates), openings, decays)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.previous, self.raw, self.slopes, self.openings, self.decays

    def at(self, here: slice) -> _Trace:
        """The part of one step."""
        return _Trace(*(tensor[here] for tensor in self.tensors))


def _run(given: _Given, setting: _Setting) -> tuple[Tensor, Tensor, tuple[Tensor | None, ...]]:
    """The outputs (tokens, dim), the last cell, and what the backward pass needs."""
    dtype, multiply = setting.arithmetic.dtype or given.inputs.dtype, setting.arithmetic.multiply
    inputs, bias = given.inputs.to(dtype), given.bias
    gates = setting.arithmetic.add(bias.to(dtype), inputs, given.input_weight.to(dtype).t())
    trace = _Trace.like(gates, setting.state) if setting.keeps else None
    state_weight_t = given.state_weight.to(dtype).t()
    projection_t = None if given.projection_weight is None else given.projection_weight.to(dtype).t()
    projected, cell = setting.state
    outputs = bias.new_empty(len(inputs), projected.shape[1])  # (tokens, dim)
    for here in setting.steps:
        rows = here.stop - here.start
        previous, cell = projected[:rows].to(dtype), cell[:rows]
        sums = setting.arithmetic.add(gates[here], previous, state_weight_t).to(bias.dtype)
        raw, cell = _run_step(sums, cell, setting.cell_clip, None if trace is None else trace.at(here))
        if trace is not None:
            trace.previous[here] = previous
        projected = outputs[here]
        if projection_t is None:
            projected.copy_(raw)
            continue
        projected.copy_(multiply(raw.to(dtype), projection_t))
        if setting.projection_clip is not None:
            projected.clamp_(-setting.projection_clip, setting.projection_clip)
    if trace is None:
        return outputs, cell, ()
    kept = _Kept(inputs, given.input_weight, given.state_weight, given.projection_weight, outputs)
    return outputs, cell, (*kept, *trace.tensors)


def _run_step(
    sums: Tensor, cell: Tensor, cell_clip: float | None, trace: _Trace | None
) -> tuple[Tensor, Tensor]:
    """Gate sums (rows, 4 * cell_dim), overwritten, and the old cell to the raw output and the new cell."""
    entry, forget, candidate, exit_ = sums.chunk(4, dim=1)  # (rows, cell_dim) each
    sums[:, : 2 * cell.shape[1]].sigmoid_()
    candidate.tanh_()
    exit_.sigmoid_()
    entered = entry * candidate
    kept = forget * cell
    new_cell = entered + kept
    if cell_clip is not None:
        new_cell.clamp_(-cell_clip, cell_clip)
    squashed = torch.tanh(new_cell)
    raw = exit_ * squashed
    if trace is None:
        return raw, new_cell
    trace.raw.copy_(raw)
    trace.decays.copy_(forget)
    trace.openings.copy_(torch.addcmul(exit_, raw, squashed, value=-1))  # o (1 - tanh(c)²)
    at_candidate = torch.addcmul(entry, entered, candidate, value=-1, out=squashed)  # i (1 - g²)
    candidate.copy_(at_candidate)
    torch.addcmul(entered, entered, entry, value=-1, out=entry)  # g i (1 - i)
    torch.addcmul(kept, kept, forget, value=-1, out=forget)  # c f (1 - f)
    torch.addcmul(raw, raw, exit_, value=-1, out=exit_)  # tanh(c) o (1 - o)
    trace.slopes.copy_(sums)
    if cell_clip is not None:
        _cut_clipped(trace, new_cell.abs() < cell_clip)
    return raw, new_cell


def _cut_clipped(trace: _Trace, is_inside: Tensor) -> None:
    """A cell at its bound passes no gradient to what would push it further."""
    if bool(is_inside.all()):
        return
    trace.decays.mul_(is_inside)
    by_gate = trace.slopes.view(len(is_inside), 4, -1)  # (rows, gates, cell_dim)
    by_gate[:, :3].mul_(is_inside.unsqueeze(1))


def _differentiate(at_outputs: Tensor, saved: Sequence[Any], setting: _Setting) -> tuple[Tensor | None, ...]:
    """The gradients at what a direction was given."""
    kept, trace = _Kept(*saved[: len(_Kept._fields)]), _Trace(*saved[len(_Kept._fields) :])
    arithmetic, weight_dtype = setting.arithmetic, kept.state_weight.dtype
    dtype = arithmetic.dtype or weight_dtype
    at_outputs, at_sums = _run_back(
        at_outputs.clone(), kept.outputs, kept.state_weight.to(dtype), kept.projection_weight, trace, setting
    )
    at_projection = None
    if kept.projection_weight is not None:
        at_projection = arithmetic.multiply_columns(at_outputs.to(dtype), trace.raw).to(weight_dtype)
    return _Given(
        inputs=arithmetic.multiply(at_sums, kept.input_weight.to(dtype)).to(weight_dtype),
        input_weight=arithmetic.multiply_columns(at_sums, kept.inputs).to(weight_dtype),
        state_weight=arithmetic.multiply_columns(at_sums, trace.previous).to(weight_dtype),
        bias=at_sums.sum(dim=0, dtype=weight_dtype),
        projection_weight=at_projection,
    )


def _run_back(
    at_outputs: Tensor,
    outputs: Tensor,
    state_weight: Tensor,
    projection_weight: Tensor | None,
    trace: _Trace,
    setting: _Setting,
) -> tuple[Tensor, Tensor]:
    """Complete the gradients at the outputs (overwritten) through time, and give those at the gate sums."""
    dtype, multiply = state_weight.dtype, setting.arithmetic.multiply
    projection = None if projection_weight is None else projection_weight.to(dtype)
    is_inside = None
    if projection is not None and setting.projection_clip is not None:
        is_inside = (outputs.abs() < setting.projection_clip).to(outputs.dtype)
    at_sums = torch.empty_like(trace.slopes)  # (tokens, 4 * cell_dim)
    most_rows = setting.steps[0].stop
    at_cell = outputs.new_zeros(most_rows, trace.raw.shape[1])
    for step in reversed(range(len(setting.steps))):
        here = setting.steps[step]
        rows = here.stop - here.start
        at_output = at_outputs[here]  # (rows, dim)
        if is_inside is not None:
            at_output.mul_(is_inside[here])
        at_raw = at_output if projection is None else multiply(at_output.to(dtype), projection)
        carried = at_cell[:rows].addcmul_(at_raw, trace.openings[here])  # (rows, cell_dim)
        slopes, sums = (tensor[here].view(rows, 4, -1) for tensor in (trace.slopes, at_sums))
        torch.mul(carried.to(dtype).unsqueeze(1), slopes[:, :3], out=sums[:, :3])
        torch.mul(at_raw, slopes[:, 3], out=sums[:, 3])
        carried.mul_(trace.decays[here])
        if step > 0:
            start = setting.steps[step - 1].start
            at_outputs[start : start + rows].add_(multiply(at_sums[here], state_weight))
    return at_outputs, at_sums
