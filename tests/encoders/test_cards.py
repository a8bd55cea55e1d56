"""Cards that are kept: asked for once, made again when damaged, named by whoever asks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from elmo_bench.encoders.cards import CARDS, keep_card
from elmo_bench.encoders.protocol import EncoderCard, EncoderContext
from elmo_bench.testing.encoders import temporary_context

CARD = EncoderCard("first", "0123", 3, 8, parameters=100, packages=("transformers", "tokenizers"))


@pytest.fixture
def context(tmp_path: Path) -> EncoderContext:
    return replace(temporary_context(tmp_path), name=CARD.name)


def refuse() -> EncoderCard:
    raise AssertionError("described again")


def test_a_card_is_described_once_and_has_the_name_that_is_asked_for(context: EncoderContext) -> None:
    assert keep_card(context, ["a"], lambda: CARD) == CARD
    found = keep_card(replace(context, name="second"), ["a"], refuse)
    assert found == replace(CARD, name="second")
    assert isinstance(found.packages, tuple)


def test_other_content_has_another_card(context: EncoderContext) -> None:
    keep_card(context, ["a"], lambda: CARD)
    other = replace(CARD, dim=16)
    assert keep_card(context, ["b"], lambda: other).dim == 16


@pytest.mark.parametrize("position", [0, 40, -1])
def test_a_damaged_card_is_described_again(context: EncoderContext, position: int) -> None:
    keep_card(context, ["a"], lambda: CARD)
    (path,) = (context.paths.cache / CARDS).iterdir()
    damaged = bytearray(path.read_bytes())
    damaged[position] ^= 1
    path.write_bytes(damaged)
    assert keep_card(context, ["a"], lambda: CARD) == CARD
    assert keep_card(context, ["a"], refuse) == CARD
