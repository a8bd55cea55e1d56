"""The scalar mix against its formula, written independently with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from elmo_bench.encoders.mix import ScalarMix, normalise, weigh
from elmo_bench.nn.dropout import draw_kept

ROWS, LAYERS, TIME, DIM = 3, 3, 5, 4
LENGTHS = (5, 2, 3)


def batch(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Layers with zeros at the padding, as the store gives them, and the mask."""
    generator = torch.Generator().manual_seed(7)
    mask = torch.arange(TIME)[None] < torch.tensor(LENGTHS)[:, None]  # (rows, time)
    layers = torch.randn(ROWS, LAYERS, TIME, DIM, generator=generator) * 3 + 1
    return (layers * mask[:, None, :, None]).to(dtype), mask


def by_formula(layers: Any, mask: Any, w: Any, gamma: float, layer_norm: bool) -> Any:
    """γ · Σ_j softmax(w)_j · h_j token by token, in float64 and with loops only."""
    h = layers.double().numpy()
    shares = np.exp(w) / np.exp(w).sum()
    result = np.zeros((ROWS, TIME, DIM))
    for j in range(h.shape[1]):
        values = [h[r, j, t, d] for r in range(ROWS) for t in range(LENGTHS[r]) for d in range(DIM)]
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / len(values)
        for r in range(ROWS):
            for t in range(LENGTHS[r]):
                term = (h[r, j, t] - mean) / np.sqrt(variance + 1e-12) if layer_norm else h[r, j, t]
                result[r, t] += gamma * shares[j] * term
    return result


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("w", [(0.0, 0.0, 0.0), (1.0, -2.0, 0.5), (30.0, 0.0, 0.0)])
@pytest.mark.parametrize("gamma", [1.0, 0.3, -2.0])
def test_mix_is_the_formula(w: tuple[float, ...], gamma: float, layer_norm: bool) -> None:
    mix = ScalarMix(LAYERS, layer_norm=layer_norm).double()
    assert mix.w is not None
    with torch.no_grad():
        mix.w.copy_(torch.tensor(w))
        mix.gamma.fill_(gamma)
    layers, mask = batch(torch.float64)
    expected = by_formula(layers, mask, np.array(w), gamma, layer_norm)
    np.testing.assert_allclose(mix(layers, mask).detach().numpy(), expected, rtol=1e-12, atol=1e-12)


def test_a_fresh_mix_is_the_plain_average() -> None:
    layers, mask = batch()
    mix = ScalarMix(LAYERS)
    assert mix.weights() == pytest.approx([1 / 3] * 3)
    assert mix.gamma.item() == 1.0
    torch.testing.assert_close(mix(layers, mask), layers.mean(dim=1))


def test_half_precision_layers_are_mixed_in_single_precision() -> None:
    layers, mask = batch(torch.float16)
    mixed = ScalarMix(LAYERS)(layers, mask)
    assert mixed.dtype == torch.float32
    torch.testing.assert_close(mixed, layers.float().mean(dim=1))


def test_a_single_layer_is_gamma_times_it_and_has_no_penalty() -> None:
    layers, mask = batch()
    mix = ScalarMix(1, mixes=False, layer_norm=True)
    with torch.no_grad():
        mix.gamma.fill_(0.7)
    torch.testing.assert_close(mix(layers[:, 1:2], mask), 0.7 * layers[:, 1], rtol=0, atol=0)
    assert mix.penalty().item() == 0.0
    assert mix.weights() == [1.0]
    assert [name for name, _ in mix.named_parameters()] == ["gamma"]


def test_penalty_is_the_plain_sum_of_squares() -> None:
    mix = ScalarMix(LAYERS)
    assert mix.w is not None
    assert mix.penalty().item() == 0.0
    with torch.no_grad():
        mix.w.copy_(torch.tensor([1.0, -2.0, 3.0]))
    penalty = mix.penalty()
    assert penalty.item() == 14.0
    penalty.backward()
    assert mix.w.grad is not None
    assert mix.w.grad.tolist() == [2.0, -4.0, 6.0]  # no ½


@pytest.mark.parametrize("layer_norm", [False, True])
def test_gradients_agree_with_finite_differences(layer_norm: bool) -> None:
    layers, mask = batch(torch.float64)

    def mixed(w: Tensor, gamma: Tensor) -> Tensor:
        mix = ScalarMix(LAYERS, layer_norm=layer_norm).double()
        result: Tensor = torch.func.functional_call(mix, {"w": w, "gamma": gamma}, (layers, mask))
        return result

    w = torch.tensor([0.2, -0.4, 0.1], dtype=torch.float64, requires_grad=True)
    gamma = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(mixed, (w, gamma))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("count", [1, 3, 13])
def test_the_weighted_sum_is_that_of_autograd(count: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(3)
    layers = torch.randn(4, count, 6, 5, generator=generator).to(dtype)
    weights = torch.randn(count, generator=generator, dtype=torch.float64).requires_grad_()
    upstream = torch.randn(4, 6, 5, generator=generator, dtype=torch.float64)
    weighed = weigh(layers, weights)
    plain = torch.einsum("rltd,l->rtd", layers.double(), weights)
    torch.testing.assert_close(weighed, plain, rtol=1e-12, atol=1e-12)
    ours = torch.autograd.grad(weighed, weights, upstream)
    torch.testing.assert_close(ours, torch.autograd.grad(plain, weights, upstream), rtol=1e-12, atol=1e-12)


def test_the_mix_keeps_no_copy_of_the_layers_for_the_backward_pass() -> None:
    layers, mask = batch(torch.float16)
    kept: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        ScalarMix(LAYERS, layer_norm=True)(layers, mask)
    large = [tensor for tensor in kept if tensor.numel() >= layers.numel()]
    assert large and all(tensor.data_ptr() == layers.data_ptr() for tensor in large)


def test_rows_are_mixed_the_same_way_whatever_stands_beside_them() -> None:
    layers, mask = batch(torch.float16)
    mix = ScalarMix(LAYERS)
    together = mix(layers, mask)
    for row in range(ROWS):
        assert torch.equal(mix(layers[row : row + 1], mask[row : row + 1])[0], together[row])


def test_normalisation_ignores_padding_and_keeps_it_zero() -> None:
    layers, mask = batch()
    dirty = torch.where(mask[:, None, :, None], layers, torch.tensor(1e4))
    clean, noisy = normalise(layers, mask), normalise(dirty, mask)
    torch.testing.assert_close(clean, noisy, rtol=0, atol=0)
    assert clean.masked_select(~mask[:, None, :, None]).abs().sum() == 0
    real = clean.transpose(1, 2)[mask]  # (tokens, layers, dim)
    torch.testing.assert_close(real.mean(dim=(0, 2)), torch.zeros(LAYERS), rtol=0, atol=1e-6)
    torch.testing.assert_close(real.var(dim=(0, 2), correction=0), torch.ones(LAYERS), rtol=1e-5, atol=0)


def test_normalisation_of_nothing_and_of_constants_is_zero() -> None:
    layers, mask = batch()
    assert normalise(layers, torch.zeros_like(mask)).abs().sum() == 0
    assert normalise(torch.ones_like(layers), mask).abs().sum() == 0


def test_dropout_comes_after_mixing_and_only_in_training() -> None:
    layers, mask = batch()
    mix = ScalarMix(LAYERS, dropout=0.5)
    torch.manual_seed(3)
    dropped = mix(layers, mask)
    whole = mix.eval()(layers, mask)
    torch.manual_seed(3)
    assert dropped.equal(whole * draw_kept(whole.shape, 0.5, whole))
    assert not torch.equal(dropped, whole)
    torch.testing.assert_close(whole, layers.mean(dim=1))


@pytest.mark.parametrize("mixes", [True, False])
@pytest.mark.parametrize("gamma", ["learned", "fixed"])
def test_fixed_gamma_is_one_and_no_parameter(gamma: Any, mixes: bool) -> None:
    mix = ScalarMix(LAYERS, mixes, gamma=gamma)
    names = {name for name, _ in mix.named_parameters()}
    assert names == ({"w"} if mixes else set()) | ({"gamma"} if gamma == "learned" else set())
    assert mix.gamma.item() == 1.0
    assert "gamma" in mix.state_dict()
