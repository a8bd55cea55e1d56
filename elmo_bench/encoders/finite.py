"""Vectors that are numbers: a damaged model gives NaN or infinity, which nothing after it would notice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elmo_bench.encoders.protocol import Encoder, Layers
from elmo_bench.types import BenchError, Words

SHOWN = 80  # characters of a sentence in a message


def encode_finite(name: str, encoder: Encoder, sentences: Sequence[Words]) -> list[Layers]:
    """The layers of sentences, all of them numbers."""
    answers = encoder.layers(sentences)
    for words, layers in zip(sentences, answers, strict=True):
        require_finite(name, words, layers)
    return answers


def require_finite(name: str, words: Words, vectors: Layers) -> None:
    """Refuse vectors of a sentence, or one layer of them, with a value that is no number."""
    if not np.isfinite(vectors).all():
        raise BenchError(
            f"{name}: gives NaN or infinity for {' '.join(words)[:SHOWN]!r}; its weights are damaged, or too "
            "large for the precision that it computes in"
        )
