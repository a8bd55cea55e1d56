"""Masks of dropout: their shares, their dependence on the seed alone, and one mask for all steps."""

from __future__ import annotations

import pytest
import torch

from elmo_bench.nn.dropout import Dropout, VariationalDropout, draw_kept


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5])
def test_a_mask_drops_its_share_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(0)
    kept = draw_kept((300, 1001), rate, torch.zeros(()))
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / (1 - rate)])
    assert float((kept == 0).float().mean()) == pytest.approx(rate, abs=0.005)
    by_place = (kept == 0).float().mean(0)  # no place is dropped more often than others
    assert float((by_place - rate).abs().max()) < 5.5 * (rate * (1 - rate) / 300) ** 0.5


def test_masks_are_a_function_of_torchs_seed() -> None:
    x = torch.ones(7, 5)
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append([Dropout(0.5)(x), Dropout(0.5)(x)])
    assert all(map(torch.equal, drawn[0], drawn[1]))
    assert not drawn[0][0].equal(drawn[0][1])
    assert not drawn[0][0].equal(drawn[2][0])


def test_evaluation_changes_nothing() -> None:
    x = torch.randn(3, 4, 5)
    assert Dropout(0.5).eval()(x) is x
    assert VariationalDropout(0.5).eval()(x) is x


def test_the_gradient_is_the_mask() -> None:
    x = torch.randn(30, 4, requires_grad=True)
    dropped = Dropout(0.5)(x)
    (gradient,) = torch.autograd.grad(dropped.sum(), x)
    torch.testing.assert_close(gradient * x, dropped)
