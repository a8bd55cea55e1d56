"""Which layers of an encoder a run reads and stores."""

from __future__ import annotations

from typing import Any

import pytest

from elmo_bench.encoders.layers import chosen_layer, kept_layers, layers_read, layers_stored, spell_layers
from elmo_bench.types import UsageError
from tests.support.composition import run_config


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ((), (0, 1, 2, 3, 4)),
        (("elmo.layers=last",), (4,)),
        (("elmo.layers=1",), (1,)),
        (("encoder.layers=[4,0,2]",), (0, 2, 4)),
        (("encoder.layers=[0,2]", "elmo.layers=last"), (2,)),
        (("encoder.layers=[0,2]", "elmo.layers=2"), (2,)),
    ],
)
def test_layers_keep_the_numbers_of_the_encoder(
    overrides: tuple[str, ...], expected: tuple[int, ...]
) -> None:
    assert layers_read(run_config("task=ner", *overrides), 5) == expected


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("encoder.layers=[0,5]",), r"encoder\.layers=\[0,5\]: expected numbers from 0 to 4.*got 5"),
        (("encoder.layers=[-1]",), r"encoder\.layers=\[-1\]"),
        (("encoder.layers=[]",), r"encoder\.layers=\[\].*got none"),
        (("encoder.layers=[0,2]", "elmo.layers=1"), r"elmo\.layers=1 does not exist.*has layers 0, 2;"),
        (("elmo.layers=5",), r"elmo\.layers=5 does not exist.*has layers 0 to 4;"),
    ],
)
def test_a_layer_that_does_not_exist_is_refused(overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        layers_read(run_config("task=ner", *overrides), 5)


@pytest.mark.parametrize(
    ("choice", "layer_count"),
    [(n, count) for count in (1, 3) for n in (-1, count, count + 1)] + [("top", 3)],
)
def test_a_single_layer_must_be_one_of_the_kept(choice: Any, layer_count: int) -> None:
    with pytest.raises(UsageError, match=rf"elmo\.layers={choice} "):
        chosen_layer(choice, kept_layers(None, layer_count))


@pytest.mark.parametrize(
    ("store", "expected"),
    [("read", (1,)), ("all", (0, 1, 2, 3, 4)), ("[3,0]", (0, 1, 3)), ("[1]", (1,))],
)
def test_a_run_stores_what_it_reads_and_what_it_is_told(store: str, expected: tuple[int, ...]) -> None:
    config = run_config("task=ner", "elmo.layers=1", f"store.layers={store}")
    assert layers_stored(config, 5) == expected


def test_a_layer_to_store_must_exist() -> None:
    with pytest.raises(UsageError, match=r"store\.layers=\[7\]"):
        layers_stored(run_config("task=ner", "store.layers=[7]"), 5)


def test_layers_are_spelt() -> None:
    layers = [(0, 1, 2), (0, 6, 12), (3,), (0, 1), ()]
    assert [spell_layers(each) for each in layers] == [
        "layers 0 to 2", "layers 0, 6, 12", "layer 3", "layers 0 to 1", "layers ",
    ]  # fmt: skip
