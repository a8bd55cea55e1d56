"""The packed recurrence against the plain loop, values and every gradient, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

from elmo_bench.bilm.lstm import LstmStack, ProjectedLstm
from elmo_bench.bilm.options import BilmOptions
from elmo_bench.bilm.recurrence import run_layer_packed, run_stack_packed

OPTIONS = BilmOptions(character_dim=2, filters=((1, 3),), highways=0, layers=2, cell_dim=5, projection_dim=3)
CLIPS = [(None, None), (0.4, None), (None, 0.15), (0.4, 0.15)]


def drawn(module: torch.nn.Module) -> torch.nn.Module:
    generator = torch.Generator().manual_seed(3)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.6
    return module.double()


def packed(sequences: Sequence[Tensor]) -> tuple[Tensor, list[int]]:
    """Rows of falling length, time-major without padding."""
    counts = [sum(len(row) > step for row in sequences) for step in range(len(sequences[0]))]
    tokens = [row[step] for step, count in enumerate(counts) for row in sequences[:count]]
    return torch.stack(tokens), counts


def padded(sequences: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    return torch.nn.utils.rnn.pad_sequence(list(sequences), batch_first=True), torch.tensor(
        [len(row) for row in sequences]
    )


@pytest.mark.parametrize("clips", CLIPS)
@pytest.mark.parametrize("projection_dim", [3, 5])  # 5: no projection, as the published code has it
@pytest.mark.parametrize("lengths", [(1,), (4, 4), (5, 3, 3, 1)])
def test_equals_the_plain_loop(
    clips: tuple[float | None, float | None], projection_dim: int, lengths: tuple[int, ...]
) -> None:
    options = replace(OPTIONS, projection_dim=projection_dim, cell_clip=clips[0], projection_clip=clips[1])
    layer = drawn(ProjectedLstm(options))
    assert isinstance(layer, ProjectedLstm)
    generator = torch.Generator().manual_seed(1)
    rows = [torch.randn(n, projection_dim, generator=generator, dtype=torch.float64) for n in lengths]
    inputs, counts = packed(rows)
    inputs.requires_grad_()
    outputs, (projected, cell) = run_layer_packed(layer, inputs, counts)
    weights = torch.randn(outputs.shape, generator=generator, dtype=torch.float64)
    ours = torch.autograd.grad((outputs * weights).sum(), [inputs, *layer.parameters()])

    plain_inputs, plain_lengths = padded([row.clone() for row in rows])
    plain_inputs.requires_grad_()
    plain, plain_state = layer(plain_inputs, plain_lengths)
    picked, _ = packed([plain[row, :n] for row, n in enumerate(lengths)])
    theirs = torch.autograd.grad((picked * weights).sum(), [plain_inputs, *layer.parameters()])

    torch.testing.assert_close(outputs, picked, rtol=0, atol=1e-14)
    torch.testing.assert_close(projected, plain_state[0][: counts[-1]], rtol=0, atol=1e-14)
    torch.testing.assert_close(cell, plain_state[1][: counts[-1]], rtol=0, atol=1e-14)
    at_inputs, _ = packed([theirs[0][row, :n] for row, n in enumerate(lengths)])
    for our, their in zip(ours, [at_inputs, *theirs[1:]], strict=True):
        torch.testing.assert_close(our, their, rtol=0, atol=1e-13)


def test_the_clips_of_that_comparison_bind() -> None:
    """Otherwise it would say nothing about the gradient of a clamp."""
    rows = torch.randn(20, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    layer = drawn(ProjectedLstm(replace(OPTIONS, cell_clip=0.4, projection_clip=0.15)))
    assert isinstance(layer, ProjectedLstm)
    outputs, (_, cell) = run_layer_packed(layer, rows, [20])
    for values, bound in ((outputs, 0.15), (cell, 0.4)):
        share = (values.abs() == bound).double().mean().item()
        assert 0.05 < share < 0.95


@pytest.mark.parametrize("clips", CLIPS)
def test_gradcheck(clips: tuple[float | None, float | None]) -> None:
    layer = drawn(ProjectedLstm(replace(OPTIONS, cell_clip=clips[0], projection_clip=clips[1])))
    assert isinstance(layer, ProjectedLstm)
    inputs = torch.randn(6, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    inputs.requires_grad_()
    parameters = tuple(layer.parameters())

    def run(inputs: Tensor, *_: Tensor) -> Tensor:
        return run_layer_packed(layer, inputs, [3, 2, 1])[0]

    assert torch.autograd.gradcheck(run, (inputs, *parameters))


def test_a_carried_state_goes_on_where_it_stopped() -> None:
    layer = drawn(ProjectedLstm(OPTIONS))
    assert isinstance(layer, ProjectedLstm)
    inputs = torch.randn(12, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    whole, whole_state = run_layer_packed(layer, inputs, [2] * 6)
    first, state = run_layer_packed(layer, inputs[:8], [2] * 4)
    second, last_state = run_layer_packed(layer, inputs[8:], [2] * 2, state)
    torch.testing.assert_close(torch.cat([first, second]), whole, rtol=0, atol=1e-14)
    for ours, theirs in zip(last_state, whole_state, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("use_skip_connections", "dropout"), list(product([True, False], [0.0, 0.3])))
def test_a_stack_equals_the_plain_stack(use_skip_connections: bool, dropout: float) -> None:
    stack = drawn(LstmStack(replace(OPTIONS, use_skip_connections=use_skip_connections)))
    assert isinstance(stack, LstmStack)
    inputs = torch.randn(1, 7, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    torch.manual_seed(0)
    plain, _ = stack(inputs, dropout=dropout)
    torch.manual_seed(0)
    ours, _ = run_stack_packed(stack, inputs[0], [1] * 7, dropout=dropout)
    torch.testing.assert_close(ours, plain[-1][0], rtol=0, atol=1e-14)


def test_half_precision_products_stay_close() -> None:
    layer = drawn(ProjectedLstm(OPTIONS)).float()
    assert isinstance(layer, ProjectedLstm)
    inputs = torch.randn(30, 3, generator=torch.Generator().manual_seed(2)).requires_grad_()
    exact, _ = run_layer_packed(layer, inputs, [6, 6, 6, 6, 6])
    half, _ = run_layer_packed(layer, inputs, [6, 6, 6, 6, 6], product_dtype=torch.bfloat16)
    assert half.dtype == torch.float32
    assert 0 < (half - exact).abs().max() < 0.05
    gradients = [
        torch.autograd.grad(outputs.square().sum(), [inputs, *layer.parameters()])
        for outputs in (exact, half)
    ]
    for a, b in zip(*gradients, strict=True):
        assert torch.nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0) > 0.998
