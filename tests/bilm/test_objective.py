"""The sampled and the full softmax against their formulas."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from elmo_bench.bilm.training.arithmetic import Arithmetic
from elmo_bench.bilm.training.objective import (
    POSITIONS_PER_CHUNK,
    WORDS_PER_BLOCK,
    Negatives,
    Softmax,
    draw_negatives,
    expected_counts,
    full_loss,
    measure_shares,
    sampled_loss,
)

VOCABULARY, DIM = 11, 4


@pytest.fixture
def softmax() -> Softmax:
    generator = torch.Generator().manual_seed(0)
    layer = Softmax(VOCABULARY, DIM, generator)
    layer.bias.data.normal_(generator=generator)
    return layer.double()


def positions(count: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(count)
    outputs = torch.randn(count, DIM, generator=generator, dtype=torch.float64, requires_grad=True)
    return outputs, torch.randint(0, VOCABULARY, (count,), generator=generator)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("count", [1, 7, POSITIONS_PER_CHUNK + 1])
def test_full_loss_is_cross_entropy(softmax: Softmax, count: int) -> None:
    outputs, targets = positions(count)
    inputs = [outputs, softmax.weight, softmax.bias]
    loss, shares = full_loss(softmax, outputs, targets)
    expected = F.cross_entropy(outputs @ softmax.weight.T + softmax.bias, targets, reduction="none")
    torch.testing.assert_close(shares, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(loss, expected.sum(), rtol=1e-14, atol=0)
    ours = torch.autograd.grad(3 * loss, inputs)
    theirs = torch.autograd.grad(3 * expected.sum(), inputs)
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, rtol=0, atol=1e-11)


@pytest.mark.parametrize("vocabulary", [7, WORDS_PER_BLOCK, WORDS_PER_BLOCK + 1, 3 * WORDS_PER_BLOCK - 1])
def test_measured_in_blocks_it_is_the_same(vocabulary: int) -> None:
    layer = Softmax(vocabulary, DIM, torch.Generator().manual_seed(0)).double()
    outputs, targets = positions(POSITIONS_PER_CHUNK + 5)
    targets = targets % vocabulary
    expected = F.cross_entropy(outputs @ layer.weight.T + layer.bias, targets, reduction="none")
    torch.testing.assert_close(measure_shares(layer, outputs, targets), expected.detach(), rtol=0, atol=1e-12)


def sampled_by_definition(softmax: Softmax, output: Tensor, target: int, negatives: Negatives) -> Tensor:
    """One position, as TensorFlow's documentation defines it: true class first, accidental hits removed."""
    classes = [target, *(n for n in negatives.numbers.tolist() if n != target)]
    counts = expected_counts(np.array(classes), VOCABULARY, negatives.tries)
    logits = softmax.weight[classes] @ output + softmax.bias[classes] - torch.from_numpy(np.log(counts))
    return torch.logsumexp(logits, dim=0) - logits[0]


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("count", [1, 9, POSITIONS_PER_CHUNK + 3])
def test_sampled_loss_is_its_definition(softmax: Softmax, count: int) -> None:
    outputs, targets = positions(count)
    negatives = draw_negatives(4, VOCABULARY, [5])
    inputs = [outputs, softmax.weight, softmax.bias]
    loss, shares = sampled_loss(softmax, outputs, targets, negatives)
    expected = torch.stack(
        [
            sampled_by_definition(softmax, output, target, negatives)
            for output, target in zip(outputs, targets.tolist(), strict=True)
        ]
    )
    if count > 1:  # both kinds of position occur
        assert 0 < np.isin(targets.numpy(), negatives.numbers).mean() < 1
    torch.testing.assert_close(shares, expected, rtol=0, atol=1e-12)
    ours = torch.autograd.grad(3 * loss, inputs)
    theirs = torch.autograd.grad(3 * expected.sum(), inputs)
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, rtol=0, atol=1e-11)


def test_negatives_are_different_words_and_depend_on_the_seed_alone() -> None:
    first, again, other = (draw_negatives(50, 200, seed) for seed in ([1, 2], [1, 2], [1, 3]))
    assert len(set(first.numbers.tolist())) == 50
    assert first.numbers.min() >= 0 and first.numbers.max() < 200
    assert first.numbers.tolist() == again.numbers.tolist()
    assert first.numbers.tolist() != other.numbers.tolist()


def test_words_are_drawn_log_uniformly_and_as_often_as_expected() -> None:
    rounds, vocabulary = 4000, 20
    draws = [draw_negatives(5, vocabulary, [round_]) for round_ in range(rounds)]
    firsts = np.bincount([draw.numbers[0] for draw in draws], minlength=vocabulary) / rounds
    theory = np.array([log((k + 2) / (k + 1)) / log(vocabulary + 1) for k in range(vocabulary)])
    assert theory.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.abs(firsts - theory).max() < 4 * np.sqrt(0.25 / rounds)
    expected = expected_counts(np.arange(vocabulary), vocabulary, 7)
    assert expected == pytest.approx([1 - exp(7 * log(1 - p)) for p in theory], abs=1e-12)


@pytest.mark.parametrize("count", [0, 20, 21])
def test_more_negatives_than_words_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="fewer negatives than the 20 words"):
        draw_negatives(count, 20, [0])


def test_half_precision_products_stay_close(softmax: Softmax) -> None:
    outputs, targets = positions(64)
    layer = softmax.float()
    outputs = outputs.detach().float().requires_grad_()
    exact, _ = full_loss(layer, outputs, targets)
    half, _ = full_loss(layer, outputs, targets, Arithmetic(torch.bfloat16))
    assert 0 < abs(half.item() / exact.item() - 1) < 0.01
    a, b = (torch.autograd.grad(loss, outputs)[0].flatten() for loss in (exact, half))
    assert F.cosine_similarity(a, b, dim=0) > 0.999
