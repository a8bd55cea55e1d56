"""Training computes the same vectors and gradients when its products are arranged for speed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from elmo_bench.bilm.model import BiLM, ProjectedLstm, TokenEncoder, character_ids
from elmo_bench.bilm.settings import BilmConfig
from elmo_bench.bilm.training.arithmetic import Arithmetic, encode_words, keep_highest
from elmo_bench.bilm.training.packed_lstm import Direction, run_layers_packed
from elmo_bench.config import read_config
from tests.support.composition import pretraining

WORDS = [
    ["a", "word", "uncharacteristically", "Grüße", "<S>"],
    ["a", "I"],
    ["x" * 47, "y" * 60, "z"],  # up to the last character there is room for
]


def config(root: Path, *overrides: str) -> BilmConfig:
    return read_config(BilmConfig, pretraining(root, "bilm=tiny", "corpus=.", *overrides)["bilm"])


@pytest.fixture
def bilm(tmp_path: Path) -> BiLM:
    return BiLM(config(tmp_path).architecture, torch.Generator().manual_seed(0))


def gradients(encoder: TokenEncoder, outputs: Tensor) -> tuple[Tensor, ...]:
    weights = torch.linspace(-1, 1, outputs.numel(), dtype=outputs.dtype).view_as(outputs)
    return torch.autograd.grad((outputs * weights).sum(), list(encoder.parameters()))


@pytest.mark.parametrize("words", WORDS)
def test_words_are_encoded_as_by_the_model(bilm: BiLM, words: list[str]) -> None:
    encoder = bilm.double().token_encoder
    ids = torch.from_numpy(character_ids(words))
    expected, found = encoder(ids), encode_words(encoder, ids, Arithmetic(fast=True))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    for ours, theirs in zip(gradients(encoder, found), gradients(encoder, expected), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_bfloat16_differs_by_its_rounding(bilm: BiLM) -> None:
    encoder = bilm.token_encoder
    ids = torch.from_numpy(character_ids(WORDS[0]))
    expected, found = encoder(ids), encode_words(encoder, ids, Arithmetic(torch.bfloat16, fast=True))
    assert found.dtype == torch.float32
    difference = float(((found - expected).abs().max() / expected.abs().max()).detach())
    assert 0 < difference < 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_highest_windows_have_the_gradient_of_amax_to_the_last_bit(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(2)
    banks = [(3, 1), (5, 2), (2, 4)]
    sums = torch.randint(-2, 3, (6, 7, 10), generator=generator).to(dtype) / 3  # small numbers: many ties
    sums.requires_grad_()
    at_highest = torch.randn(6, 10, generator=generator).to(dtype)
    parts = zip(torch.split(sums, [3, 5, 2], dim=2), (7, 6, 4), strict=True)
    expected = torch.cat([part[:, :windows].amax(dim=1) for part, windows in parts], dim=1)
    found = keep_highest(sums, banks)
    assert torch.equal(found, expected)
    [theirs] = torch.autograd.grad(expected, sums, at_highest)
    [ours] = torch.autograd.grad(found, sums, at_highest)
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_a_layer_is_the_same_with_fast_products(bilm: BiLM, dtype: torch.dtype | None) -> None:
    layer = bilm.forward_stack.layers[0]
    assert isinstance(layer, ProjectedLstm)
    inputs = torch.randn(9, layer.input_weight.shape[1], generator=torch.Generator().manual_seed(1))
    results = []
    for fast in (False, True):
        [(outputs, _)] = run_layers_packed([Direction(layer, inputs, [4, 3, 2])], Arithmetic(dtype, fast))
        results.append([outputs, *torch.autograd.grad(outputs.square().sum(), list(layer.parameters()))])
    for plain, quick in zip(*results, strict=True):
        torch.testing.assert_close(quick, plain, rtol=1e-4, atol=1e-5)


def test_the_identity_of_older_models_does_not_change(tmp_path: Path) -> None:
    assert "arithmetic" not in config(tmp_path).model_dump()
    assert config(tmp_path, "bilm.arithmetic=fast").model_dump()["arithmetic"] == "fast"
