"""Each rule of initialisation draws from the distribution that it names."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from elmo_bench.nn.initialisation import (
    draw_glorot,
    draw_orthogonal,
    draw_truncated_normal,
    initialise_lstm,
    make_embedding,
    make_keras_linear,
    make_tensorflow_linear,
)


@pytest.mark.parametrize(
    ("shape", "positions", "reach"),
    [
        ((300, 100), 1, (6 / 400) ** 0.5),
        ((50, 3 * 8), 3, (6 / (3 * 8 + 3 * 50)) ** 0.5),  # a convolution of width 3
        ((150,), 1, (3 / 150) ** 0.5),
        ((), 1, 3**0.5),
        ((1, 200), 1, (6 / 201) ** 0.5),
    ],
)
def test_glorot_counts_fans_as_tensorflow_does(shape: tuple[int, ...], positions: int, reach: float) -> None:
    torch.manual_seed(0)
    drawn = torch.stack([draw_glorot(torch.empty(shape), positions) for _ in range(2000)])
    assert 0.99 * reach < drawn.abs().max() <= reach
    assert drawn.mean().abs() < 0.05 * reach
    assert drawn.std() == pytest.approx(reach / 3**0.5, rel=0.02)


def test_the_truncated_normal_ends_at_two_deviations() -> None:
    torch.manual_seed(0)
    drawn = draw_truncated_normal(torch.empty(100, 100), 0.05)
    assert 0.099 < drawn.abs().max() <= 0.1
    assert drawn.std() == pytest.approx(0.05 * 0.8796, rel=0.02)  # what two deviations leave of one


def test_every_block_of_a_weight_is_orthogonal() -> None:
    weight = torch.empty(3 * 5, 8)
    draw_orthogonal(weight, blocks=3)
    for block in weight.chunk(3):
        torch.testing.assert_close(block @ block.T, torch.eye(5), rtol=0, atol=1e-5)


def test_only_the_vector_of_padding_is_zero() -> None:
    padded, plain = make_embedding(9, 4, padding=True), make_embedding(9, 4)
    assert (padded.weight.abs().sum(1) > 0).tolist() == [False] + 8 * [True]
    assert (plain.weight.abs().sum(1) > 0).all()
    assert padded.padding_idx == 0 and plain.padding_idx is None


def test_biases_are_zero_in_keras_and_drawn_in_tensorflow() -> None:
    assert make_keras_linear(4, 5).bias.eq(0).all()
    assert 0 < make_tensorflow_linear(4, 5).bias.abs().max() <= (3 / 5) ** 0.5
    for make in (make_keras_linear, make_tensorflow_linear):
        assert make(4, 5, bias=False).bias is None


def test_an_lstm_forgets_little_at_first_and_has_one_bias() -> None:
    lstm = nn.LSTM(3, 4, bidirectional=True)
    initialise_lstm(lstm)
    for _, _, bias, other in lstm.all_weights:
        assert bias.tolist() == 4 * [0.0] + 4 * [1.0] + 8 * [0.0]
        assert other.eq(0).all() and not other.requires_grad
