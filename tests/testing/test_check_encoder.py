"""The contract of encoders finds what it is there to find: every mutant breaks one property."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from pydantic.dataclasses import dataclass as checked_dataclass

from elmo_bench.encoders.protocol import (
    EncoderCard,
    EncoderContext,
    EncoderPlugin,
    FoundEncoder,
    Layers,
    PlannedEncoder,
)
from elmo_bench.testing import check_encoder
from elmo_bench.types import Words

LAYERS, DIM = 2, 6
FINDINGS = itertools.count()


@checked_dataclass(frozen=True)
class Hashing(EncoderPlugin):
    """A sound encoder: each word's vectors are drawn from its hash."""

    seed: int = 1
    mutant: str = ""

    def card(self, context: EncoderContext) -> EncoderCard:
        without = {"mutant", "seed"} if self.mutant == "forgets a setting" else {"mutant"}
        return EncoderCard(context.name, self.make_fingerprint("hashing 1", without=without), LAYERS, DIM)

    def find(self, context: EncoderContext) -> FoundEncoder:
        card = self.card(context)
        if self.mutant == "fingerprint of the day":
            card = EncoderCard(card.name, str(next(FINDINGS)), LAYERS, DIM)
        if self.mutant == "no fingerprint":
            card = EncoderCard(card.name, "", LAYERS, DIM)
        if self.mutant == "wrong card":
            card = EncoderCard(card.name, card.fingerprint, LAYERS + 1, DIM)
        if self.mutant == "wrong halves":
            card = EncoderCard(card.name, card.fingerprint, LAYERS, DIM, repeats_halves=True)
        if self.mutant == "loads another one":
            return FoundEncoder(card, lambda: HashingEncoder("another", self))
        return FoundEncoder(card, lambda: HashingEncoder(card.fingerprint, self))

    def plan(self, context: EncoderContext) -> PlannedEncoder | None:
        if self.mutant == "always plans":
            return PlannedEncoder(EncoderCard(context.name, "", LAYERS, DIM), context.paths.cache)
        return None


class HashingEncoder:
    layer_count, dim = LAYERS, DIM

    def __init__(self, fingerprint: str, plugin: Hashing) -> None:
        self.fingerprint = fingerprint
        self.plugin = plugin
        self.calls = 0
        self.buffer = np.zeros((LAYERS, 1000, DIM), np.float32)

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        self.calls += 1
        answers = [self.sentence(words) for words in sentences]
        return mutate(self, self.plugin.mutant, sentences, answers)

    def sentence(self, words: Words) -> Layers:
        rows = [self.word(word) for word in words]
        return np.stack(rows, axis=1) if rows else np.zeros((LAYERS, 0, DIM), np.float32)

    def word(self, word: str) -> Layers:
        digest = hashlib.sha256(f"{self.plugin.seed} {word}".encode()).digest()
        drawn = np.random.default_rng(int.from_bytes(digest[:8], "big")).normal(size=(LAYERS, DIM))
        return drawn.astype(np.float32)


def mutate(
    encoder: HashingEncoder, mutant: str, sentences: Sequence[Words], answers: list[Layers]
) -> list[Any]:
    """The answers as a broken encoder gives them."""
    longest = max(map(len, sentences), default=0)
    if mutant == "double precision":
        return [layers.astype(np.float64) for layers in answers]
    if mutant == "lists":
        return [layers.tolist() for layers in answers]
    if mutant == "one array fewer":
        return answers[1:] if len(answers) > 1 else answers
    if mutant == "sorted by length":
        return sorted(answers, key=lambda layers: layers.shape[1])
    if mutant == "keeps the padding":
        return [np.pad(layers, ((0, 0), (0, longest - layers.shape[1]), (0, 0))) for layers in answers]
    if mutant == "sees the padding":
        return [layers * (1 + longest) for layers in answers]
    if mutant == "sees its neighbours":
        return [layers + (1e-3 if len(answers) > 1 else 0) for layers in answers]
    if mutant == "counts its calls":
        return [layers + np.float32(encoder.calls) for layers in answers]
    if mutant == "cuts long sentences":
        return [layers[:, :512] for layers in answers]
    if mutant == "drops words without pieces":
        return [
            layers[:, [not word.isspace() for word in words]]
            for words, layers in zip(sentences, answers, strict=True)
        ]
    if mutant == "shares a buffer":
        for layers in answers:
            encoder.buffer[:, : layers.shape[1]] = layers
        return [encoder.buffer[:, : layers.shape[1]] for layers in answers]
    if mutant == "not a number":
        return [np.where(layers > 2, np.nan, layers).astype(np.float32) for layers in answers]
    if mutant == "nothing but zeros":
        return [np.zeros_like(layers) for layers in answers]
    if mutant == "fails on emoji" and any("👩" in word for words in sentences for word in words):
        raise ValueError("unknown character")
    if mutant == "fails on an empty list":
        return answers or [np.zeros((LAYERS, 0, DIM), np.float32)]
    return answers


MUTANTS = {
    "fingerprint of the day": "the card changes",
    "no fingerprint": "must have a fingerprint",
    "wrong card": "the card has layer_count 3, the loaded encoder has 2",
    "wrong halves": "halves of layer 0 differ",
    "loads another one": "the loaded encoder has 'another'",
    "always plans": r"plan\(\) must return None",
    "double precision": "expected float32, got float64",
    "lists": "expected a numpy array, got list",
    "one array fewer": "arrays for .* sentences",
    "sorted by length": "expected shape",
    "keeps the padding": "expected shape",
    "sees the padding": "has other vectors",
    "sees its neighbours": "alone a sentence has other vectors",
    "counts its calls": "the same call gave other vectors",
    "cuts long sentences": r"expected shape \(2, 700, 6\), got \(2, 512, 6\)",
    "drops words without pieces": "expected shape",
    "shares a buffer": "a later call changed|the same call|has other vectors",
    "not a number": "not finite",
    "nothing but zeros": "every word of every sentence has the same vectors",
    "fails on emoji": "layers.. raised ValueError: unknown character",
    "fails on an empty list": r"layers\(\[\]\) must be an empty list",
}


def test_a_sound_encoder_passes_bit_for_bit() -> None:
    card = check_encoder(Hashing(), variants=[Hashing(seed=2), Hashing(seed=3)], tolerance=0)
    assert (card.layer_count, card.dim) == (LAYERS, DIM)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_found(mutant: str) -> None:
    with pytest.raises(AssertionError, match=MUTANTS[mutant]):
        check_encoder(Hashing(mutant=mutant))


def test_a_setting_that_the_fingerprint_forgets_is_found() -> None:
    mutant = "forgets a setting"
    with pytest.raises(AssertionError, match="gives other vectors under the same fingerprint"):
        check_encoder(Hashing(mutant=mutant), variants=[Hashing(seed=2, mutant=mutant)])


def test_a_small_deviation_is_a_question_of_tolerance() -> None:
    check_encoder(Hashing(mutant="sees its neighbours"), tolerance=1e-2)


def test_what_is_not_a_frozen_plug_in_is_refused() -> None:
    @dataclass
    class Mutable(EncoderPlugin):
        def find(self, context: EncoderContext) -> FoundEncoder:
            raise AssertionError("refused before anything is asked of it")

    with pytest.raises(AssertionError, match="must be frozen"):
        check_encoder(Mutable())
    with pytest.raises(AssertionError, match="must be a subclass of EncoderPlugin"):
        check_encoder(object())  # type: ignore[arg-type]
