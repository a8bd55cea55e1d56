"""Encoders without the harness: from tokens to vectors in two lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from elmo_bench.bilm.engine.embedder import load_embedder
from elmo_bench.bilm.identity import Precision
from elmo_bench.data.tokens import tokenise
from elmo_bench.encoders.mix import normalise
from elmo_bench.encoders.protocol import Encoder
from elmo_bench.types import UsageError, Words

Floats = NDArray[np.float32]


class FrozenEncoder:
    """The layers of a frozen encoder for tokenised sentences.

    A sentence's vectors depend only on the sentence, but for their last bits.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    @property
    def fingerprint(self) -> str:
        """The hash of everything that decides a vector."""
        return self.encoder.fingerprint

    @property
    def layer_count(self) -> int:
        """The number of layers of every token."""
        return self.encoder.layer_count

    @property
    def dim(self) -> int:
        """The dimension of each layer."""
        return self.encoder.dim

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.fingerprint[:8]}: {self.layer_count} layers of {self.dim}>"

    def embed(self, sentences: Iterable[Sequence[str]]) -> list[Floats]:
        """One (layers, tokens, dim) float32 array per sentence; the last layer is the top layer."""
        return self.encoder.layers(check_sentences(sentences))

    def mix(
        self,
        sentences: Iterable[Sequence[str]],
        weights: Sequence[float] | None = None,
        gamma: float = 1.0,
        layer_norm: bool = False,
    ) -> list[Floats]:
        """One (tokens, dim) array per sentence, γ · Σ s_j · h_j with `weights` as s; the default is the mean.

        `layer_norm` first normalises every layer to mean 0 and variance 1 over all tokens of this call.
        """
        count = self.encoder.layer_count
        shares = np.full(count, 1 / count) if weights is None else _as_numbers(weights)
        if shares.shape != (count,) or shares.dtype.kind not in "biuf" or not np.isfinite(shares).all():
            raise UsageError(f"weights: expected {count} numbers, one per layer, got {weights}")
        scale = _as_numbers(gamma)
        if scale.size != 1 or scale.dtype.kind not in "biuf" or not np.isfinite(scale).all():
            raise UsageError(f"gamma: expected a number, got {gamma!r}")
        embedded = self.embed(sentences)
        if layer_norm and embedded:
            embedded = _normalise_together(embedded)
        factors = np.float32(scale.item()) * shares.astype(np.float32)
        return [np.tensordot(factors, layers, axes=1) for layers in embedded]


class Elmo(FrozenEncoder):
    """A frozen biLM; layer 0 has no context.

    >>> elmo = Elmo.load("results/models/small")                 # or a weight file next to its options.json
    >>> elmo.embed([["The", "cat", "sat", "."]])[0].shape        # (layers, tokens, dim)
    (3, 4, 256)
    """

    @classmethod
    def load(cls, path: str | Path, precision: Precision = "float32", device: str = "cpu") -> Elmo:
        """Read a model directory, or a weight file with its options next to it."""
        if precision not in get_args(Precision):
            raise UsageError(f"precision={precision!r}: expected one of {', '.join(get_args(Precision))}")
        return cls(load_embedder(Path(path), precision=precision, device=device))


def check_sentences(sentences: Iterable[Sequence[str]]) -> list[Words]:
    """Sentences as tuples of tokens; raw strings are refused, because their letters would become tokens."""
    if isinstance(sentences, str):
        raise UsageError(f"expected a list of tokenised sentences, got {_hint(sentences, 'the string')}")
    if not isinstance(sentences, Iterable):
        raise UsageError(f"expected a list of tokenised sentences, got {sentences!r}")
    checked = []
    for index, words in enumerate(sentences):
        if isinstance(words, str):
            raise UsageError(f"expected tokens, got {_hint(words, f'sentence {index} as the string')}")
        if not isinstance(words, Iterable):
            raise UsageError(f"expected a list of tokens, got {words!r} as sentence {index}")
        for word in words:
            if not isinstance(word, str):
                raise UsageError(f"expected tokens as strings, got {word!r} in sentence {index}")
        checked.append(tuple(words))
    return checked


def _hint(text: str, what: str) -> str:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return (
        f"{what} {shown!r}; give a list of token lists, such as [{list(tokenise(shown))!r}]; "
        "elmo_bench.tokenise(TEXT) splits raw text into the tokens of a sentence"
    )


def _as_numbers(weights: Any) -> NDArray[Any]:
    """An array of what was given: numbers, an array, or weights that PyTorch has learnt."""
    try:
        return np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights)
    except ValueError:  # rows of several lengths
        return np.empty(0)


def _normalise_together(embedded: list[Floats]) -> list[Floats]:
    """All tokens of the call as one batch of one row (bilm-tf's weight_layers: one mean, one variance)."""
    joined = torch.from_numpy(np.concatenate(embedded, axis=1)).unsqueeze(0)  # (1, layers, tokens, dim)
    real = torch.ones(1, joined.shape[2], dtype=torch.bool)
    normal: Floats = normalise(joined, real)[0].numpy()
    ends = np.cumsum([layers.shape[1] for layers in embedded])
    return np.split(normal, ends[:-1], axis=1)
