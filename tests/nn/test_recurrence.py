"""The packed recurrences against torch's own LSTM and against the formula step by step."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from elmo_bench.nn.lstm import BiLstm, run_highway_lstm
from elmo_bench.nn.packing import Packing, run_library
from elmo_bench.nn.products import SLICE, make_precise_product, multiply, multiply_with_gradient

THREE_LENGTHS = list(itertools.product([1, 2, 4], repeat=3))


def mask_of(lengths: tuple[int, ...], time: int) -> Tensor:
    return torch.arange(time) < torch.tensor(lengths).unsqueeze(1)


@pytest.mark.parametrize("extra", [0, 2])
@pytest.mark.parametrize("lengths", THREE_LENGTHS, ids=str)
def test_bilstm_is_torchs_in_values_and_gradients(lengths: tuple[int, ...], extra: int) -> None:
    torch.manual_seed(0)
    layer = BiLstm(5, 3).double()
    mask = mask_of(lengths, max(lengths) + extra)
    x = torch.randn(*mask.shape, 5, dtype=torch.float64, requires_grad=True)
    ours, theirs = layer(x, mask), run_library(layer.lstm, x, mask)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
    weights = torch.randn_like(ours)
    variables = [x, *(parameter for parameter in layer.parameters() if parameter.requires_grad)]
    for mine, reference in zip(
        torch.autograd.grad((ours * weights).sum(), variables),
        torch.autograd.grad((theirs * weights).sum(), variables),
        strict=True,
    ):
        torch.testing.assert_close(mine, reference, rtol=1e-11, atol=1e-13)


def test_bilstm_is_torchs_in_single_precision() -> None:
    torch.manual_seed(0)
    layer, mask = BiLstm(64, 32), mask_of((30, 7, 19), 30)
    x = torch.randn(*mask.shape, 64)
    torch.testing.assert_close(layer(x, mask), run_library(layer.lstm, x, mask), rtol=0, atol=2e-6)


def test_highway_lstm_is_its_formula() -> None:
    torch.manual_seed(0)
    lengths, inputs, hidden = (2, 4, 1), 5, 3
    packing = Packing.of(mask_of(lengths, 4))
    tokens = sum(lengths)
    shapes = (tokens, inputs), (6 * hidden, inputs), (5 * hidden, hidden), (5 * hidden,)
    variables = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    x, enter, recurrent, bias = variables
    kept = torch.tensor([[1.5, 0.0, 1.5], [1.5, 1.5, 1.5], [0.0, 1.5, 0.0]], dtype=torch.float64)
    expected = torch.empty(tokens, hidden, dtype=torch.float64)
    for place, row in enumerate(packing.order.tolist()):
        state = cell = torch.zeros(hidden, dtype=torch.float64)
        for step in range(lengths[row]):
            token = sum(packing.sizes[:step]) + place
            products = enter @ x[token]
            sums = products[: 5 * hidden] + bias + recurrent @ state
            enters, forget, candidate, opened, transform = sums.chunk(5)
            cell = forget.sigmoid() * cell + enters.sigmoid() * candidate.tanh()
            new, carried = opened.sigmoid() * cell.tanh(), products[5 * hidden :]
            state = kept[place] * (transform.sigmoid() * new + (1 - transform.sigmoid()) * carried)
            expected[token] = state
    ours = run_highway_lstm(x, packing, enter, recurrent, bias, kept)
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-14)
    weights = torch.randn_like(ours)
    for mine, reference in zip(
        torch.autograd.grad((ours * weights).sum(), variables),
        torch.autograd.grad((expected * weights).sum(), variables),
        strict=True,
    ):
        torch.testing.assert_close(mine, reference, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("lengths", THREE_LENGTHS, ids=str)
def test_packing_visits_every_token_once_in_both_directions(lengths: tuple[int, ...]) -> None:
    mask = mask_of(lengths, 4)
    packing = Packing.of(mask)
    assert sorted(packing.forwards.tolist()) == mask.flatten().nonzero().flatten().tolist()
    assert packing.forwards[packing.turned].equal(packing.backwards)
    assert packing.backwards[packing.turned].equal(packing.forwards)
    x = torch.randn(*mask.shape, 2)
    whole = packing.unpack(x.flatten(0, 1)[packing.forwards])
    assert whole.equal(x * mask.unsqueeze(2))


def test_turning_twice_changes_nothing() -> None:
    packing, packed = Packing.of(mask_of((3, 1, 4), 4)), torch.randn(8, 2)
    assert not packing.turn(packed).equal(packed)
    assert packing.turn(packing.turn(packed)).equal(packed)


def test_products_agree_with_torch() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(7, 33, requires_grad=True), torch.randn(5, 33, requires_grad=True)
    torch.testing.assert_close(multiply(x, weight.T), x @ weight.T)
    ours = torch.autograd.grad(multiply_with_gradient(x, weight).square().sum(), [x, weight])
    theirs = torch.autograd.grad((x @ weight.T).square().sum(), [x, weight])
    for mine, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, reference)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("inputs", [10, SLICE, 2 * SLICE + 5])
def test_a_linear_layer_of_any_shape_is_applied(dtype: torch.dtype, with_bias: bool, inputs: int) -> None:
    generator = torch.Generator().manual_seed(4)
    x, weight, bias = (
        torch.randn(shape, generator=generator).to(dtype) for shape in ((3, 7, inputs), (6, inputs), (6,))
    )
    chosen = bias if with_bias else None
    expected = torch.nn.functional.linear(x, weight, chosen)
    torch.testing.assert_close(make_precise_product(weight, chosen)(x), expected)


def test_a_precise_product_is_as_exact_as_that_of_torch() -> None:
    generator = torch.Generator().manual_seed(5)
    x, weight = (torch.randn(shape, generator=generator) for shape in ((300, 3072), (768, 3072)))
    exact = x.double() @ weight.double().T
    ours, theirs = (
        (product - exact).square().mean().sqrt()
        for product in (make_precise_product(weight, None)(x), x @ weight.T)
    )
    assert ours < 1.2 * theirs
