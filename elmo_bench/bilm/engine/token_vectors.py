"""The context-independent vector of every distinct word, computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor

import torch
from torch import Tensor, nn

from elmo_bench.bilm.model import Highway, TokenEncoder, character_ids, count_characters
from elmo_bench.data.text import SENTENCE_END, SENTENCE_START
from elmo_bench.nn.products import Activation, Product, make_product

ROWS_AT_ONCE = 256
WORDS_AT_ONCE = ROWS_AT_ONCE - 1  # and one mark on each side
MARKS = (SENTENCE_START, SENTENCE_END)


class WordCache:
    """Rows of token vectors by word: row 0 is zeros, rows 1 and 2 are the sentence marks."""

    START_ROW = 1
    END_ROW = 2

    def __init__(self, encode: Callable[[Sequence[str]], Tensor], dim: int, most_bytes: int) -> None:
        self._encode = encode
        self._most_words = max(1 << 16, most_bytes // (4 * dim))
        marks = encode(MARKS)
        self.vectors = torch.cat([marks.new_zeros(1, dim), marks])  # (rows, dim)
        self._count = len(MARKS) + 1
        self._rows: dict[str, int] = {mark: row for row, mark in enumerate(MARKS, 1)}

    def add(self, words: Iterable[str], executor: Executor | None = None) -> None:
        """Compute missing vectors; afterwards the table contains all words of the call."""
        wanted = dict.fromkeys(words)
        new = [word for word in wanted if word not in self._rows]
        if self._count + len(new) > self._most_words:
            self._rows = {mark: row for row, mark in enumerate(MARKS, 1)}
            self._count = len(MARKS) + 1
            new = [word for word in wanted if word not in self._rows]
        new.sort(key=lambda word: len(word.encode("utf-8", "ignore")))  # words of similar length together
        pieces = [new[start : start + WORDS_AT_ONCE] for start in range(0, len(new), WORDS_AT_ONCE)]
        self._reserve(self._count + len(new))
        run = map if executor is None else executor.map
        for piece, vectors in zip(pieces, run(self._encode, pieces), strict=True):
            self.vectors[self._count : self._count + len(piece)] = vectors
            self._rows.update((word, self._count + place) for place, word in enumerate(piece))
            self._count += len(piece)

    def rows(self, words: Sequence[str]) -> list[int]:
        """The rows of words that were added."""
        find = self._rows.__getitem__
        return [find(word) for word in words]

    def _reserve(self, count: int) -> None:
        if count > len(self.vectors):
            grown = self.vectors.new_zeros(max(count, 2 * len(self.vectors)), self.vectors.shape[1])
            grown[: self._count] = self.vectors[: self._count]
            self.vectors = grown


class InferenceTokenEncoder:
    """The token encoder with packed weights, for many words at once."""

    def __init__(self, encoder: TokenEncoder, characters: int, dtype: torch.dtype) -> None:
        self._characters = characters
        self._table = encoder.characters.weight.detach().to(dtype)  # (262, character_dim)
        self._filters = []
        for convolution in encoder.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            kernel = convolution.weight.detach().to(dtype).transpose(1, 2).flatten(1)  # (count, width * dim)
            product = make_product(kernel, None, "none", ROWS_AT_ONCE * 8)
            assert convolution.bias is not None
            bias = convolution.bias.detach().to(dtype)
            self._filters.append((convolution.kernel_size[0], product, bias))
        self._highways = []
        for highway in encoder.highways:
            assert isinstance(highway, Highway)
            transform = _linear_product(highway.transform, "relu", dtype)
            self._highways.append((_linear_product(highway.gate, "sigmoid", dtype), transform))
        projection = encoder.projection
        self._projection = (
            _linear_product(projection, "none", dtype) if isinstance(projection, nn.Linear) else None
        )

    @torch.inference_mode()
    def __call__(self, words: Sequence[str]) -> Tensor:
        """Token vectors (words, dim) in single precision."""
        # oneDNN uses another kernel for a product of one row, and its last bits differ.
        rows = character_ids([*words, SENTENCE_START], self._characters)
        longest = int(count_characters(rows).max())
        ids = torch.from_numpy(rows).to(self._table.device)
        pooled = [self._pool(ids, longest, *convolution) for convolution in self._filters]
        features = torch.cat(pooled, dim=1)  # (words, filter_count)
        for gate, transform in self._highways:
            features = torch.lerp(features, transform(features), gate(features))
        projected = features if self._projection is None else self._projection(features)
        return projected[:-1].float()  # (words, dim)

    def _pool(self, ids: Tensor, longest: int, width: int, product: Product, bias: Tensor) -> Tensor:
        """One filter's maximum over all windows; after the first all-padding window they repeat."""
        count, dim = len(ids), self._table.shape[1]
        windows = min(longest + 1, self._characters - width + 1)
        spelled = self._table[ids[:, : windows + width - 1]]  # (words, characters, dim)
        laid_out = spelled.as_strided((windows, count, width * dim), (dim, spelled.stride(0), 1)).reshape(
            windows * count, width * dim
        )
        sums = product(laid_out).view(windows, count, -1)  # (windows, words, filters)
        return torch.relu_(sums.amax(dim=0).add_(bias))


def _linear_product(linear: nn.Linear, activation: Activation, dtype: torch.dtype) -> Product:
    return make_product(linear.weight.to(dtype), linear.bias.to(dtype), activation, ROWS_AT_ONCE)
