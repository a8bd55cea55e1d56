"""The interface of encoders: settings that find one, a card that describes it, and layers for every token.

A plug-in is one class. It subclasses `EncoderPlugin`, it is a frozen dataclass whose fields are its settings,
and a file of conf/encoder names it (docs/EXTENDING.md has an example).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from elmo_bench.config import PathsConfig, TrainerConfig
from elmo_bench.hashing import hash_value
from elmo_bench.types import Log, UsageError, Words

Layers = NDArray[np.float32]
"""One sentence as its encoder sees it, before mixing: (layers, time, dim)."""


@dataclass(frozen=True)
class EncoderCard:
    """The description of an encoder that is not loaded; it suffices to read a complete store."""

    name: str
    fingerprint: str  # changes with everything that affects a vector: weights, settings, version of the code
    layer_count: int
    dim: int
    repeats_halves: bool = False  # layer 0 is [x; x], as the biLM's context-free layer is; stored once
    parameters: int | None = None  # number of weights, if known
    packages: tuple[str, ...] = ()  # that compute the vectors besides PyTorch and NumPy, for the record

    @property
    def layers(self) -> tuple[int, ...]:
        """The numbers of all layers."""
        return tuple(range(self.layer_count))


class Encoder(Protocol):
    """A loaded, frozen encoder; the same sentences in one call give bit-identical layers."""

    fingerprint: str
    layer_count: int
    dim: int

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """One float32 array (layers, time, dim) per sentence, one position per word, no boundary markers.

        The encoder cuts the sentences into batches and windows as it likes. The vectors of a sentence must
        not depend on the other sentences of the call, except in their last bits.
        """
        ...


@dataclass(frozen=True)
class FoundEncoder:
    """An encoder that exists; `load` is called only if the store lacks sentences."""

    card: EncoderCard
    load: Callable[[], Encoder]


@dataclass(frozen=True)
class PlannedEncoder:
    """An encoder that `find` has to make first; its card has no fingerprint yet."""

    card: EncoderCard
    directory: Path


@dataclass(frozen=True)
class EncoderContext:
    """What a plug-in may use in addition to its settings."""

    name: str  # the name of the file in conf/encoder
    paths: PathsConfig
    trainer: TrainerConfig  # the directory of encoders that are trained first
    log: Log
    device: str = "cpu"  # where `load` puts the encoder; vectors differ in their last bits at most


class EncoderPlugin(ABC):
    """The settings of an encoder, and how to find it."""

    @abstractmethod
    def find(self, context: EncoderContext) -> FoundEncoder:
        """The encoder's card and how to load it; an encoder that does not exist yet is made here.

        Raises DataMissingError or UsageError if a setting is wrong; the message names the key, as in
        `encoder.directory=DIR`.
        """

    def plan(self, context: EncoderContext) -> PlannedEncoder | None:
        """The encoder that `find` would have to make first; None if it exists. Nothing is trained."""
        return None

    def untrained(self, context: EncoderContext) -> EncoderPlugin:
        """The encoder's twin of the same sizes with random weights, the same in every run."""
        raise UsageError(
            f"encoder.untrained=true: {type(self).__name__} has no twin with random weights; "
            "leave the key out, or choose another encoder"
        )

    def language_model(self, context: EncoderContext) -> Path:
        """The directory of a biLM with softmax weights, for fine-tuning."""
        raise UsageError(
            f"encoder={context.name}: this encoder has no softmax weights, so it cannot be trained further; "
            "expected a directory with options.json, weights, softmax.safetensors (or softmax.npz) and "
            "vocabulary.txt: encoder=model encoder.directory=DIR"
        )

    def make_fingerprint(self, algorithm: str, *content: Any, without: Collection[str] = ()) -> str:
        """A fingerprint of this encoder, for a card.

        It hashes the settings, the name and version of the algorithm (change it when the vectors change), and
        `content`, such as the sha256 of a weight file. `without` names settings that do not change a vector,
        and all paths: the content of a file counts, not its location.
        """
        settings = TypeAdapter(type(self)).dump_python(self, exclude=set(without))
        return hash_value([algorithm, settings, *content])
