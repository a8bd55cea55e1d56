"""The contract of encoders that the store and every run rely on."""

from __future__ import annotations

import dataclasses
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elmo_bench.config import EncoderConfig, PathsConfig, TrainerConfig
from elmo_bench.encoders.find import load_plugin
from elmo_bench.encoders.protocol import (
    Encoder,
    EncoderCard,
    EncoderContext,
    EncoderPlugin,
    Layers,
    PlannedEncoder,
)
from elmo_bench.types import Words, log_to_stderr

PLAIN = ("The", "old", "bank", "of", "the", "river", "opened", "at", "9", ",", "said", "Mary", ".")
UNUSUAL = (
    "👩‍👩‍👧",  # several code points, one glyph
    "e\u0301\u0302",  # combining marks
    "\u200b",  # zero width
    "\u00ad",  # empty after normalisation
    "\u3000",  # a space
    " ",
    "\x07",  # a control character
    "שלום",  # right to left
    "\ufffd",
    "ﬁ",  # becomes two letters when normalised
    "</S>",  # special tokens of some models
    "[MASK]",
    "x" * 10_000,
)
LONG = 700  # in words; more than the window of most transformers
SAMPLE = 5  # sentences that are encoded together with the longest one


def unusual_sentences() -> list[Words]:
    """Difficult sentences for encoders: with one word, with unusual words, and longer than a window."""
    chooser = random.Random(1)
    mixed = [
        (*tuple(chooser.choices(PLAIN, k=3)), word, *tuple(chooser.choices(PLAIN, k=2))) for word in UNUSUAL
    ]
    lone = [(word,) for word in (PLAIN[0], *UNUSUAL)]
    return [PLAIN, *lone, *mixed, UNUSUAL, tuple(chooser.choices(PLAIN, k=LONG))]


def check_encoder(
    encoder: EncoderPlugin | EncoderConfig,
    sentences: Sequence[Words] | None = None,
    *,
    variants: Sequence[EncoderPlugin] = (),
    tolerance: float = 1e-5,
    context: EncoderContext | None = None,
) -> EncoderCard:
    """Check the contract and return the encoder's card.

    `variants` are plug-ins of the same class with other settings: if they give other vectors, they must have
    other fingerprints. `tolerance` is the allowed change of a sentence's vectors with the other sentences
    of a call, as a fraction of the largest value; 0 means bit-identical. `context` is needed by plug-ins that
    read paths of the configuration; by default all paths are in a temporary directory.
    """
    plugin = load_plugin(encoder) if isinstance(encoder, EncoderConfig) else encoder
    chosen = unusual_sentences() if sentences is None else [tuple(words) for words in sentences]
    assert len(chosen) > 1, "check_encoder: give at least two sentences"
    check_settings(plugin)
    with tempfile.TemporaryDirectory() as directory:
        surroundings = context or temporary_context(Path(directory))
        card, loaded = check_finding(plugin, surroundings)
        vectors = check_vectors(card, loaded, chosen)
        check_company(loaded, chosen, vectors, tolerance)
        check_variants(card, vectors, variants, chosen, surroundings)
    return card


def temporary_context(directory: Path) -> EncoderContext:
    """A context that creates everything below one directory."""
    paths = PathsConfig.model_validate({name: directory / name for name in PathsConfig.model_fields})
    trainer = TrainerConfig(accelerator="cpu", devices=1, precision="32-true")
    return EncoderContext("checked", paths, trainer, log_to_stderr)


def check_settings(plugin: EncoderPlugin) -> None:
    """A plug-in is a frozen dataclass that declares itself an encoder."""
    kind = type(plugin)
    assert isinstance(plugin, EncoderPlugin), f"{kind.__name__} must be a subclass of EncoderPlugin"
    assert dataclasses.is_dataclass(plugin), f"{kind.__name__} must be a dataclass"
    assert kind.__dataclass_params__.frozen, f"{kind.__name__} must be frozen: @dataclass(frozen=True)"


def check_finding(plugin: EncoderPlugin, context: EncoderContext) -> tuple[EncoderCard, Encoder]:
    """The card is always the same and matches the loaded encoder."""
    planned = plugin.plan(context)
    found, again = plugin.find(context), plugin.find(context)
    card = found.card
    assert card == again.card, f"the card changes from one find() to the next: {card}, then {again.card}"
    assert card.fingerprint, "the card of an encoder that exists must have a fingerprint"
    assert card.layer_count >= 1 and card.dim >= 1, f"expected at least one layer and one dimension: {card}"
    check_plan(planned, plugin.plan(context), card)
    loaded = found.load()
    for key in ("fingerprint", "layer_count", "dim"):
        expected, got = getattr(card, key), getattr(loaded, key)
        assert expected == got, f"the card has {key} {expected!r}, the loaded encoder has {got!r}"
    return card, loaded


def check_plan(before: PlannedEncoder | None, after: PlannedEncoder | None, card: EncoderCard) -> None:
    """An encoder that must be made first has a planned card; afterwards there is no plan."""
    assert after is None, "plan() must return None once find() has made the encoder"
    if before is None:
        return
    assert not before.card.fingerprint, "the card of a planned encoder has no fingerprint yet"
    for key in ("layer_count", "dim", "repeats_halves"):
        expected, got = getattr(before.card, key), getattr(card, key)
        assert expected == got, f"plan() announced {key} {expected!r}, find() made {got!r}"


def check_vectors(card: EncoderCard, encoder: Encoder, sentences: Sequence[Words]) -> list[Layers]:
    """One finite float32 array per sentence, of the card's sizes, owned by the caller."""
    assert list(encoder.layers([])) == [], "layers([]) must be an empty list"
    answers = encode(encoder, sentences)
    assert len(answers) == len(sentences), f"{len(answers)} arrays for {len(sentences)} sentences"
    for words, layers in zip(sentences, answers, strict=True):
        check_array(card, words, layers)
    kept = [layers.copy() for layers in answers]
    same_call = encode(encoder, sentences)
    for words, first, now, second in zip(sentences, kept, answers, same_call, strict=True):
        assert np.array_equal(first, now), f"a later call changed the array of an earlier one: {show(words)}"
        assert np.array_equal(first, second), f"the same call gave other vectors: {show(words)}"
    (empty,) = encode(encoder, [()])
    assert empty.shape == (card.layer_count, 0, card.dim), f"an empty sentence has shape {empty.shape}"
    tokens = np.concatenate(kept, axis=1)
    assert (tokens != tokens[:, :1]).any(), "every word of every sentence has the same vectors"
    return kept


def check_array(card: EncoderCard, words: Words, layers: Layers) -> None:
    """The array of one sentence."""
    shape = (card.layer_count, len(words), card.dim)
    assert isinstance(layers, np.ndarray), f"expected a numpy array, got {type(layers).__name__}"
    assert layers.shape == shape, f"expected shape {shape}, got {layers.shape}: {show(words)}"
    assert layers.dtype == np.float32, f"expected float32, got {layers.dtype}: {show(words)}"
    assert np.isfinite(layers).all(), f"a value is not finite: {show(words)}"
    if card.repeats_halves:
        first, second = np.split(layers[0], 2, axis=1)
        assert np.array_equal(first, second), f"repeats_halves: the halves of layer 0 differ: {show(words)}"


def check_company(
    encoder: Encoder, sentences: Sequence[Words], expected: Sequence[Layers], tolerance: float
) -> None:
    """A sentence has the same vectors alone, in another order, next to a copy and in any batch."""
    indices = list(range(len(sentences)))
    shuffled = random.Random(2).sample(indices, len(indices))
    longest = max(indices, key=lambda index: len(sentences[index]))
    calls = {
        "alone": [[index] for index in indices],
        "in reverse order": [indices[::-1]],
        "in another order": [shuffled],
        "next to a long sentence": [[index, longest] for index in shuffled[:SAMPLE]],
        "next to a copy of itself": [[index for index in indices for _ in range(2)]],
    }
    for what, batches in calls.items():
        for batch in batches:
            answers = encode(encoder, [sentences[index] for index in batch])
            for index, layers in zip(batch, answers, strict=True):
                distance = relative_distance(expected[index], layers)
                assert distance <= tolerance, (
                    f"{what} a sentence has other vectors (by {distance:.2g} of the largest value; "
                    f"tolerance {tolerance:g}): {show(sentences[index])}"
                )


def check_variants(
    card: EncoderCard,
    vectors: Sequence[Layers],
    variants: Sequence[EncoderPlugin],
    sentences: Sequence[Words],
    context: EncoderContext,
) -> None:
    """Different vectors need different fingerprints; otherwise the store would confuse them."""
    known = {card.fingerprint: list(vectors)}
    for variant in variants:
        found = variant.find(context)
        answers = encode(found.load(), sentences)
        earlier = known.setdefault(found.card.fingerprint, answers)
        same = all(np.array_equal(one, other) for one, other in zip(earlier, answers, strict=True))
        assert same, f"{variant} gives other vectors under the same fingerprint"


def encode(encoder: Encoder, sentences: Sequence[Words]) -> list[Layers]:
    """The encoder's output; an exception names the sentences that it could not encode."""
    try:
        return list(encoder.layers(list(sentences)))
    except Exception as error:
        shown = show(sentences[0]) if len(sentences) == 1 else f"{len(sentences)} sentences"
        raise AssertionError(f"layers() raised {type(error).__name__}: {error}, for {shown}") from error


def relative_distance(expected: Layers, got: Layers) -> float:
    """The largest difference as a fraction of the largest value; infinite if the shapes differ."""
    if expected.shape != got.shape:
        return float("inf")
    scale = float(np.abs(expected).max(initial=0.0)) or 1.0
    return float(np.abs(expected - got).max(initial=0.0)) / scale


def show(words: Words) -> str:
    """A sentence in a message."""
    text = repr(list(words))
    return text if len(text) <= 80 else f"{text[:77]}..."
