"""Which of an encoder's layers are read. In runs a layer keeps the encoder's own number everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from elmo_bench.config import RunConfig
from elmo_bench.encoders.protocol import Encoder, EncoderCard, FoundEncoder, Layers
from elmo_bench.hashing import hash_value
from elmo_bench.types import UsageError, Words

Chosen = Literal["all", "last"] | int
"""`elmo.layers`: the mix of all kept layers, the last kept layer, or the layer of this number."""


def layers_read(config: RunConfig, layer_count: int) -> tuple[int, ...]:
    """The layers of which a run reads vectors, from below; only these have to be encoded and stored."""
    kept = kept_layers(config.encoder.layers, layer_count)
    one = chosen_layer(config.elmo.layers, kept)
    return kept if one is None else (one,)


def layers_stored(config: RunConfig, layer_count: int) -> tuple[int, ...]:
    """The layers that a run stores when it encodes: those that it reads, and those of `store.layers`."""
    read, wanted = layers_read(config, layer_count), config.store.layers
    if wanted == "read":
        return read
    if wanted == "all":
        return tuple(range(layer_count))
    numbers = [layer_count - 1 if layer == "last" else layer for layer in wanted]
    _check(numbers, layer_count, "store.layers", "last, read or all")
    return tuple(sorted({*read, *numbers}))


def kept_layers(layers: Sequence[int] | None, layer_count: int) -> tuple[int, ...]:
    """The layers that `encoder.layers` keeps, from below; None keeps all."""
    if layers is None:
        return tuple(range(layer_count))
    _check(layers, layer_count, "encoder.layers", "null for all of them")
    return tuple(sorted(set(layers)))


def chosen_layer(choice: Chosen, kept: Sequence[int]) -> int | None:
    """The number of the single layer that `elmo.layers` names; None for the mix of all that are kept."""
    if choice == "all":
        return None
    if choice == "last":
        return kept[-1]
    if choice in kept:
        return choice
    raise UsageError(
        f"elmo.layers={choice} does not exist: this encoder has {spell_layers(kept)}; "
        "give all, last or one of these indices"
    )


def spell_layers(layers: Sequence[int]) -> str:
    """`layers 0 to 12`, `layers 0, 6, 12` or `layer 2`."""
    return f"layer{'s' * (len(layers) != 1)} {spell_numbers(layers)}"


def spell_numbers(layers: Sequence[int]) -> str:
    """`0 to 12`, or `0, 6, 12` where some are missing in between."""
    if len(layers) > 1 and list(layers) == list(range(layers[0], layers[-1] + 1)):
        return f"{layers[0]} to {layers[-1]}"
    return ", ".join(map(str, layers))


def _check(layers: Sequence[int], layer_count: int, key: str, others: str) -> None:
    missing = [layer for layer in layers if layer not in range(layer_count)]
    if missing or not layers:
        given = ",".join(map(str, layers))
        raise UsageError(
            f"{key}=[{given}]: expected numbers from 0 to {layer_count - 1}, the layers of this encoder, "
            f"or {others}; got {', '.join(map(str, missing)) or 'none'}"
        )


class KeptLayers:
    """An encoder of which some layers come out, from below."""

    def __init__(self, encoder: Encoder, card: EncoderCard, kept: Sequence[int]) -> None:
        self.fingerprint, self.layer_count, self.dim = card.fingerprint, card.layer_count, card.dim
        self._encoder, self._kept = encoder, list(kept)

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """The kept layers of every sentence."""
        return [layers[self._kept] for layers in self._encoder.layers(sentences)]


def keep_layers(found: FoundEncoder, kept: Sequence[int]) -> FoundEncoder:
    """The same encoder with some of its layers, and a fingerprint that says which."""
    fingerprint = hash_value([found.card.fingerprint, list(kept)])
    card = replace(found.card, layer_count=len(kept), fingerprint=fingerprint, repeats_halves=False)
    return FoundEncoder(card, lambda: KeptLayers(found.load(), card, kept))
