"""An encoder whose vectors depend on the company of a sentence, as those of real ones do in their last bits.

Whatever is filled in another way than planned therefore shows.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from elmo_bench.encoders.protocol import EncoderCard, Layers
from elmo_bench.types import Words

CARD = EncoderCard("company", "c0ffee" * 8, layer_count=3, dim=8, repeats_halves=True)


@dataclass
class CompanyEncoder:
    """Pseudo-random layers from the words of the sentence and the whole batch; counts what it encodes."""

    fingerprint: str = CARD.fingerprint
    layer_count: int = CARD.layer_count
    dim: int = CARD.dim
    batches: list[tuple[Words, ...]] = field(default_factory=list)

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        self.batches.append(tuple(sentences))
        company = repr(tuple(sentences))
        return [self._sentence(words, company) for words in sentences]

    def _sentence(self, words: Words, company: str) -> Layers:
        seed = int.from_bytes(hashlib.sha256(f"{words}{company}".encode()).digest()[:8], "big")
        layers = np.random.default_rng(seed).normal(size=(self.layer_count, len(words), self.dim))
        layers[0, :, self.dim // 2 :] = layers[0, :, : self.dim // 2]
        return layers.astype(np.float32)


def sentences(count: int = 300, seed: int = 1) -> list[Words]:
    """Sentences of 1 to 12 words, some of them twice."""
    chooser = random.Random(seed)
    words = ["New", "York", "is", "a", "city", "—", "日本", "7"]
    return [tuple(chooser.choices(words, k=chooser.randint(1, 12))) for _ in range(count)]
