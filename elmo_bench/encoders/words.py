"""Static word vectors in the place of a contextual encoder: one layer, the same vector everywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from elmo_bench.data.vectors import WordTable
from elmo_bench.encoders.protocol import EncoderCard, Layers
from elmo_bench.types import Words


class WordEncoder:
    """`encoder=words`: each token's row of a word table; unknown words are zeros."""

    layer_count = 1

    def __init__(self, table: WordTable) -> None:
        self.table = table
        self.dim = table.dim
        self._matrix: Layers = table.matrix.detach().to("cpu").float().numpy().copy()  # (2 + words, dim)
        digest = hashlib.sha256(json.dumps(["words", *table.words]).encode())
        digest.update(self._matrix.astype("<f4").tobytes())
        self.fingerprint = digest.hexdigest()

    def card(self) -> EncoderCard:
        """What the store needs to know of this encoder."""
        return EncoderCard("words", self.fingerprint, self.layer_count, self.dim, repeats_halves=False)

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """One (1, time, dim) array per sentence."""
        return [np.take(self._matrix, self.table.ids(words).numpy(), axis=0)[None] for words in sentences]
