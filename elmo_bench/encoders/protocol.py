"""What stands behind ELMo: any frozen model that gives every token of a sentence some layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from elmo_bench.types import Words

Layers = NDArray[np.float32]
"""One sentence as its encoder sees it, before mixing: (layers, time, dim)."""


@dataclass(frozen=True)
class EncoderCard:
    """All that is known of an encoder without loading its weights; enough to read a complete store."""

    name: str
    fingerprint: str  # weights, architecture and state protocol: whatever decides a vector
    layer_count: int
    dim: int
    repeats_halves: bool  # layer 0 is [x; x], as the biLM's context-free layer is


class Encoder(Protocol):
    """A frozen encoder; what it answers is, bit for bit, a function of the sentences of one call."""

    fingerprint: str
    layer_count: int
    dim: int

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """One (layers, time, dim) array per sentence, without boundary markers."""
        ...
