"""The packed GRU against torch's own."""

from __future__ import annotations

import itertools

import pytest
import torch

from elmo_bench.nn.packing import Packing, run_library
from elmo_bench.tasks.squad.gru import BiGru


def layer_and_input(lengths: tuple[int, ...], time: int) -> tuple[BiGru, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    layer = BiGru(5, 3).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)  # biases too
    mask = torch.arange(time) < torch.tensor(lengths).unsqueeze(1)
    return layer, torch.randn(*mask.shape, 5, dtype=torch.float64, requires_grad=True), mask


@pytest.mark.parametrize("extra", [0, 2])
@pytest.mark.parametrize("lengths", list(itertools.product([1, 2, 4], repeat=3)), ids=str)
def test_bigru_is_torchs_in_values_and_gradients(lengths: tuple[int, ...], extra: int) -> None:
    layer, x, mask = layer_and_input(lengths, max(lengths) + extra)
    ours, theirs = layer.run_packed(x, Packing.of(mask)), run_library(layer.gru, x, mask)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
    weights = torch.randn_like(ours)
    variables = [x, *layer.parameters()]
    for mine, reference in zip(
        torch.autograd.grad((ours * weights).sum(), variables),
        torch.autograd.grad((theirs * weights).sum(), variables),
        strict=True,
    ):
        torch.testing.assert_close(mine, reference, rtol=1e-11, atol=1e-13)


def test_bigru_is_torchs_in_single_precision() -> None:
    torch.manual_seed(0)
    layer, mask = BiGru(64, 32), torch.arange(30) < torch.tensor([[30], [7], [19]])
    x = torch.randn(*mask.shape, 64)
    torch.testing.assert_close(
        layer.run_packed(x, Packing.of(mask)), run_library(layer.gru, x, mask), rtol=0, atol=2e-6
    )


def test_weights_start_within_two_deviations_and_biases_at_zero() -> None:
    torch.manual_seed(0)
    for name, parameter in BiGru(50, 40).named_parameters():
        if "bias" in name:
            assert parameter.abs().max() == 0
        else:
            assert 0.09 < parameter.abs().max() <= 0.1
            # the deviation of a normal distribution of 0.05 that is cut at two deviations
            assert abs(float(parameter.detach().std()) - 0.044) < 0.002
