"""Word vectors and character CNNs. Padding has no influence on any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.word_table import UNKNOWN_ROW, WordTable
from elmo_bench.nn.dropout import Dropout
from elmo_bench.nn.initialisation import make_embedding, make_tensorflow_linear
from elmo_bench.nn.products import multiply_with_gradient


class WordEmbedding(nn.Module):
    """A task's own word vectors, starting from its word table; of width 0 where it has none.

    Only rows of training words can ever learn, so they alone are parameters: an optimiser that passes over a
    hundred thousand rows without a gradient takes nearly half of a NER step.
    """

    fixed: Tensor  # (rows, dim)
    places: Tensor  # (rows,) in `learnt`, or -1

    def __init__(self, table: WordTable, dropout: float = 0.0) -> None:
        super().__init__()
        self.dim = table.dim
        self.dropout = dropout
        rows = (
            torch.arange(len(table.matrix)) if table.in_training is None else torch.tensor(table.in_training)
        )
        places = torch.full((len(table.matrix),), -1)
        places[rows] = torch.arange(len(rows))
        # Made from the vocabulary again whenever a head is restored: kept in no file.
        self.register_buffer("fixed", table.matrix, persistent=False)
        self.register_buffer("places", places, persistent=False)
        is_trainable = table.trainable and table.dim > 0
        self.learnt = nn.Parameter(table.matrix[rows]) if is_trainable else None  # (rows in training, dim)

    def forward(self, ids: Tensor) -> Tensor:
        if self.training and self.dropout:
            # a training set never holds the unknown word: this is how it learns its vector
            forgotten = torch.rand(ids.shape, device=ids.device) < self.dropout
            ids = torch.where(forgotten & (ids > 0), UNKNOWN_ROW, ids)
        if self.learnt is None:
            return self.fixed[ids]  # (rows, time, dim)
        places = self.places[ids]
        if self.training:
            return F.embedding(places, self.learnt, padding_idx=0)
        return torch.where(places[..., None] < 0, self.fixed[ids], self.learnt[places.clamp(min=0)])


class CharacterCnn(nn.Module):
    """Each word's characters through one convolution, ReLU and the maximum over the word's positions."""

    def __init__(self, characters: int, dim: int, filters: int, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dim = filters
        self.width = width
        self.vectors = make_embedding(characters, dim, padding=True)
        self.dropout = Dropout(dropout)  # of what a filter sees, alike wherever a batch repeats a word
        self.filters = nn.Linear(width * dim, filters)

    def forward(self, ids: Tensor) -> Tensor:
        """(rows, time, characters) numbers, zero where there is no character, to (rows, time, filters)."""
        words, places = distinct_rows(ids.flatten(0, 1))  # (distinct, characters), (rows * time,)
        look_up = nn.Sequential(self.vectors, self.dropout)
        best = strongest_features(words, self.width, look_up, self.filters)  # (distinct, filters)
        return best[places].view(*ids.shape[:2], self.dim)  # (rows, time, filters)


class CharacterCnns(nn.Module):
    """Each word's characters through convolutions of several widths side by side."""

    def __init__(self, characters: int, dim: int, filters: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.widths = filters * len(widths), tuple(widths)
        self.vectors = make_embedding(characters, dim, padding=True)
        self.filters = nn.ModuleList(
            make_tensorflow_linear(width * dim, filters, positions=width) for width in widths
        )

    def forward(self, ids: Tensor) -> Tensor:
        """(rows, time, characters) numbers, zero where there is no character, to (rows, time, dim)."""
        words, places = distinct_rows(ids.flatten(0, 1))
        best = [
            strongest_features(words, width, self.vectors, cast(nn.Linear, filters))
            for width, filters in zip(self.widths, self.filters, strict=True)
        ]
        return torch.cat(best, dim=1)[places].view(*ids.shape[:2], self.dim)


def strongest_features(words: Tensor, width: int, vectors: nn.Module, filters: nn.Linear) -> Tensor:
    """The maximum of every filter over the places of each word, (words, characters) to (words, filters)."""
    around = F.pad(words, ((width - 1) // 2, width // 2))
    real = words != 0
    windows = around.unfold(1, width, 1)[real]  # (real characters, width)
    seen = vectors(windows).flatten(1)  # (real characters, width * dim)
    sums = multiply_with_gradient(seen, filters.weight, filters.bias)  # (real characters, filters)
    # a word without characters, which is padding, takes the initial value
    return torch.segment_reduce(torch.relu(sums), "max", lengths=real.sum(1), initial=0.0)  # (words, filters)


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The different rows of a matrix of small numbers, in order, and each row's place among them."""
    if rows.device.type != "cpu":
        distinct, places = torch.unique(rows, dim=0, return_inverse=True)
        return distinct, places
    # As strings of bytes, in a tenth of torch's time; the highest byte leads, so their order is the numbers'.
    numbers = np.ascontiguousarray(rows.numpy(), dtype=">u4")
    strings = numbers.view(np.dtype((np.void, numbers.itemsize * rows.shape[1]))).ravel()  # (rows,)
    _, first, inverse = np.unique(strings, return_index=True, return_inverse=True)
    return rows[torch.from_numpy(first)], torch.from_numpy(inverse)
