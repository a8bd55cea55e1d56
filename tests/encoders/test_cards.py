"""Cards that are kept: asked for once, made again when damaged, named by whoever asks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from elmo_bench.encoders.cards import CARDS, keep_card, refuse_changed
from elmo_bench.encoders.protocol import EncoderCard, EncoderContext
from elmo_bench.files import write_kept
from elmo_bench.testing.encoders import temporary_context
from elmo_bench.types import DataError

CARD = EncoderCard("first", "0123", 3, 8, parameters=100, packages=("transformers", "tokenizers"))


@pytest.fixture
def context(tmp_path: Path) -> EncoderContext:
    return replace(temporary_context(tmp_path), name=CARD.name)


def refuse() -> EncoderCard:
    raise AssertionError("described again")


def test_a_card_is_described_once_and_has_the_name_that_is_asked_for(context: EncoderContext) -> None:
    assert keep_card(context, lambda: "a", lambda: CARD) == CARD
    found = keep_card(replace(context, name="second"), lambda: "a", refuse)
    assert found == replace(CARD, name="second")
    assert isinstance(found.packages, tuple)


def test_other_content_has_another_card(context: EncoderContext) -> None:
    keep_card(context, lambda: "a", lambda: CARD)
    other = replace(CARD, dim=16)
    assert keep_card(context, lambda: "b", lambda: other).dim == 16


@pytest.mark.parametrize("position", [0, 40, -1])
def test_a_damaged_card_is_described_again(context: EncoderContext, position: int) -> None:
    keep_card(context, lambda: "a", lambda: CARD)
    (path,) = (context.paths.cache / CARDS).iterdir()
    damaged = bytearray(path.read_bytes())
    damaged[position] ^= 1
    path.write_bytes(damaged)
    assert keep_card(context, lambda: "a", lambda: CARD) == CARD
    assert keep_card(context, lambda: "a", refuse) == CARD


def test_a_card_of_content_that_changed_meanwhile_is_not_kept(context: EncoderContext) -> None:
    content = iter(["a", "b"])
    assert keep_card(context, lambda: next(content), lambda: CARD) == CARD
    other = replace(CARD, dim=16)
    assert keep_card(context, lambda: "a", lambda: other) == other


def test_a_card_of_another_shape_is_described_again(context: EncoderContext) -> None:
    keep_card(context, lambda: "a", lambda: CARD)
    (path,) = (context.paths.cache / CARDS).iterdir()
    write_kept(path, b'{"name": "first"}')
    assert keep_card(context, lambda: "a", lambda: CARD) == CARD


def test_files_that_changed_after_the_card_are_refused() -> None:
    refuse_changed(CARD, "0123")
    with pytest.raises(DataError, match="encoder first: its files changed while the run read them"):
        refuse_changed(CARD, "4567")
