"""Static word vectors in the role of a contextual encoder: one layer, the same vector in every sentence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic.dataclasses import dataclass

from elmo_bench.data.vectors import VECTORS_VERSION, read_vectors_once
from elmo_bench.encoders.cards import keep_card
from elmo_bench.encoders.protocol import EncoderCard, EncoderContext, EncoderPlugin, FoundEncoder, Layers
from elmo_bench.hashing import hash_file_once
from elmo_bench.types import DataMissingError, Words

if TYPE_CHECKING:  # PyTorch is imported only to look vectors up
    from elmo_bench.data.word_table import WordTable

ALGORITHM = "words 1"
"""Change the number when the same vectors have another fingerprint."""


@dataclass(frozen=True, kw_only=True)
class WordVectors(EncoderPlugin):
    """`encoder=words encoder.file=FILE`: vectors of a text file in the format of GloVe or word2vec."""

    file: Path

    def find(self, context: EncoderContext) -> FoundEncoder:
        if not self.file.is_file():
            raise DataMissingError(
                f"{self.file}: no such file (encoder.file); expected GloVe-like word vectors"
            )

        @cache  # one table for the card and for all splits
        def load() -> WordEncoder:
            from elmo_bench.data.word_table import word_table

            vectors = read_vectors_once(self.file, context.paths.cache / "vectors", context.log)
            return WordEncoder(word_table("file", vectors, (), 0, seed=0, trainable=False))

        def name_content() -> list[object]:
            return [ALGORITHM, VECTORS_VERSION, hash_file_once(self.file)]

        return FoundEncoder(keep_card(context, name_content, lambda: load().card(context.name)), load)


class WordEncoder:
    """Each token's row of a word table; unknown words are zeros."""

    layer_count = 1

    def __init__(self, table: WordTable) -> None:
        self.table = table
        self.dim = table.dim
        self._matrix: Layers = table.matrix.detach().to("cpu").float().numpy().copy()  # (2 + words, dim)
        digest = hashlib.sha256(json.dumps(["words", *table.words]).encode())
        digest.update(self._matrix.astype("<f4").tobytes())
        self.fingerprint = digest.hexdigest()

    def card(self, name: str = "words") -> EncoderCard:
        """The description of this encoder for the store."""
        return EncoderCard(
            name, self.fingerprint, self.layer_count, self.dim, parameters=int(self._matrix.size)
        )

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """One (1, time, dim) array per sentence."""
        return [np.take(self._matrix, self.table.ids(words).numpy(), axis=0)[None] for words in sentences]
