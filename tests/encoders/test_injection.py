"""Where ELMo enters: widths, sharing between streams and not between places, gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from elmo_bench.config import ElmoConfig
from elmo_bench.encoders.injection import Injection
from elmo_bench.encoders.mix import ScalarMix
from elmo_bench.tensors import Stream, Widths

LAYERS, DIM = (0, 1, 2), 4


def elmo(**changes: Any) -> ElmoConfig:
    settings = {"where": "both", "layers": "all", "lambda": 0.1, "layer_norm": False, "dropout": 0.0}
    return ElmoConfig.model_validate(settings | {"gamma": "learned"} | changes)


def streams() -> dict[str, Stream]:
    generator = torch.Generator().manual_seed(5)
    return {
        name: Stream(
            layers=torch.randn(rows, len(LAYERS), time, DIM, generator=generator),
            mask=torch.ones(rows, time, dtype=torch.bool),
            rows_per_example=(1,) * rows,
        )
        for name, rows, time in (("premise", 2, 5), ("hypothesis", 2, 3))
    }


@pytest.mark.parametrize(
    ("where", "at_input", "at_output"),
    [("none", 0, 0), ("input", DIM, 0), ("output", 0, DIM), ("both", DIM, DIM)],
)
def test_absent_places_have_width_zero(where: str, at_input: int, at_output: int) -> None:
    injection = Injection(elmo(where=where), LAYERS, DIM)
    assert injection.widths == Widths(at_input, at_output)
    for name, injected in injection(streams()).items():
        rows, time = streams()[name].mask.shape
        assert injected.at_input.shape == (rows, time, at_input)
        assert injected.at_output.shape == (rows, time, at_output)
        assert injected.at_input.dtype == injected.at_output.dtype == torch.float32
        assert injected.mask.shape == (rows, time)
    assert set(injection.learnt()) == {
        place for place, width in (("input", at_input), ("output", at_output)) if width
    }


def test_the_baseline_needs_no_encoder() -> None:
    injection = Injection(elmo(where="none"), (), dim=0)
    absent = Stream(torch.zeros(2, 0, 5, 0), torch.ones(2, 5, dtype=torch.bool), (1, 1))
    assert injection({"text": absent})["text"].at_input.shape == (2, 5, 0)
    assert list(injection.parameters()) == []
    assert injection.penalty().item() == 0.0
    assert injection.learnt() == {}


def test_places_learn_apart_and_streams_together() -> None:
    injection = Injection(elmo(), LAYERS, DIM)
    assert sum(parameter.numel() for parameter in injection.parameters()) == 2 * (len(LAYERS) + 1)
    at_input = injection.mixes["input"]
    assert isinstance(at_input, ScalarMix) and at_input.w is not None
    with torch.no_grad():
        at_input.w.copy_(torch.tensor([50.0, 0.0, 0.0]))
        at_input.gamma.fill_(2.0)
    given = streams()
    for name, injected in injection(given).items():
        torch.testing.assert_close(injected.at_input, 2 * given[name].layers[:, 0])
        torch.testing.assert_close(injected.at_output, given[name].layers.mean(dim=1))
    assert injection.penalty().item() == 2500.0
    assert injection.learnt()["input"] == {
        "layers": [0, 1, 2],
        "weights": pytest.approx([1.0, 0.0, 0.0]),
        "gamma": 2.0,
    }
    assert injection.learnt()["output"] == {
        "layers": [0, 1, 2],
        "weights": pytest.approx([1 / 3] * 3),
        "gamma": 1.0,
    }


@pytest.mark.parametrize("where", ["input", "output", "both"])
def test_every_parameter_gets_a_gradient(where: str) -> None:
    injection = Injection(elmo(where=where), LAYERS, DIM)
    total = sum(
        injected.at_input.square().sum() + injected.at_output.square().sum()
        for injected in injection(streams()).values()
    )
    assert isinstance(total, torch.Tensor)
    total.backward()
    for name, parameter in injection.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_a_single_layer_has_no_penalty() -> None:
    injection = Injection(elmo(layers="last"), (2,), DIM)
    assert injection.penalty().item() == 0.0
    alone = {
        name: replace(stream, layers=stream.layers[:, 2:], mask=stream.mask)
        for name, stream in streams().items()
    }
    torch.testing.assert_close(injection(alone)["premise"].at_output, alone["premise"].layers[:, 0])
    assert injection.learnt()["input"] == {"layers": [2], "weights": [1.0], "gamma": 1.0}


def test_the_layers_that_an_encoder_keeps_are_told_by_their_own_numbers() -> None:
    learnt = Injection(elmo(where="input"), (0, 6, 12), DIM).learnt()
    assert learnt["input"]["layers"] == [0, 6, 12]
    assert learnt["input"]["weights"] == pytest.approx([1 / 3] * 3)


def test_settings_reach_the_mix() -> None:
    injection = Injection(elmo(layer_norm=True, dropout=0.25, gamma="fixed"), LAYERS, DIM)
    for mix in injection.mixes.values():
        assert isinstance(mix, ScalarMix)
        assert mix.layer_norm and mix.dropout.p == 0.25
    assert {name for name, _ in injection.named_parameters()} == {"mixes.input.w", "mixes.output.w"}


def test_the_order_of_streams_does_not_matter_to_normalisation() -> None:
    given = streams()
    injection = Injection(elmo(layer_norm=True), LAYERS, DIM)
    together = injection(given)
    for name, stream in given.items():
        alone = injection({name: stream})[name]
        assert torch.equal(together[name].at_input, alone.at_input)
