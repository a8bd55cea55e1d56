"""How training multiplies matrices, and the character network by few large products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.bilm.model import TokenEncoder
from elmo_bench.nn.products import multiply, multiply_columns, multiply_with_gradient


@dataclass(frozen=True)
class Arithmetic:
    """The type of products, and whether they are arranged for speed, which changes their last bits."""

    dtype: torch.dtype | None = None  # None: that of the weights
    fast: bool = False

    def multiply(self, left: Tensor, right: Tensor) -> Tensor:
        """The product of two matrices of one type; gradients are the caller's business."""
        return multiply(left, right) if self.fast else torch.mm(left, right)

    def multiply_columns(self, left: Tensor, right: Tensor) -> Tensor:
        """left' right, as a weight's gradient is."""
        is_copied = self.fast and left.dtype == torch.float32  # bfloat16 products do not copy what they turn
        return multiply_columns(left, right) if is_copied else torch.mm(left.t(), right)

    def add(self, sums: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """The same plus one row for all, or a row for each."""
        if self.fast and left.dtype == torch.float32:
            return multiply(left, right).add_(sums)
        return torch.addmm(sums, left, right)


PLAIN = Arithmetic()


def encode_words(encoder: TokenEncoder, ids: Tensor, arithmetic: Arithmetic = PLAIN) -> Tensor:
    """Character ids (words, characters) to token vectors (words, P); equals `TokenEncoder`."""
    if not arithmetic.fast:
        vectors: Tensor = encoder(ids)
        return vectors
    features = _convolve(encoder, ids, arithmetic)
    for highway in encoder.highways:
        gate = torch.sigmoid(_apply(highway.gate, features, arithmetic))
        features = torch.lerp(features, F.relu(_apply(highway.transform, features, arithmetic)), gate)
    if isinstance(encoder.projection, nn.Linear):
        return _apply(encoder.projection, features, arithmetic)
    return features


def _convolve(encoder: TokenEncoder, ids: Tensor, arithmetic: Arithmetic) -> Tensor:
    """The highest value of every filter in every word, (words, filter_count).

    One product has the windows of the widest filter as rows and all filters as columns; a narrower filter
    is zero for the rest of the window. Zeros after the word make a window at every character.
    """
    embedded = encoder.characters(encoder.trim(ids))  # (words, characters, character_dim)
    words, length, _ = embedded.shape
    windows = F.pad(embedded, (0, 0, 0, encoder.widest - 1)).unfold(1, encoder.widest, 1)
    filters = torch.cat([F.pad(one.weight, (0, encoder.widest - _width(one))) for one in _filters(encoder)])
    sums = _multiply(windows.reshape(words * length, -1), filters.flatten(1), arithmetic)
    sizes = [one.out_channels for one in _filters(encoder)]
    by_width = torch.split(sums.view(words, length, -1), sizes, dim=2)
    highest = [
        part[:, : length - _width(one) + 1].amax(dim=1)  # without windows that reach beyond the characters
        for one, part in zip(_filters(encoder), by_width, strict=True)
    ]
    biases = torch.cat([one.bias for one in _filters(encoder) if one.bias is not None])
    return F.relu(torch.cat(highest, dim=1).to(biases.dtype) + biases)


def _filters(encoder: TokenEncoder) -> list[nn.Conv1d]:
    return [one for one in encoder.convolutions if isinstance(one, nn.Conv1d)]


def _width(convolution: nn.Conv1d) -> int:
    return convolution.kernel_size[0]


def _apply(layer: Any, inputs: Tensor, arithmetic: Arithmetic) -> Tensor:
    outputs: Tensor = _multiply(inputs, layer.weight, arithmetic).to(inputs.dtype) + layer.bias
    return outputs


def _multiply(inputs: Tensor, weight: Tensor, arithmetic: Arithmetic) -> Tensor:
    dtype = arithmetic.dtype or weight.dtype
    return multiply_with_gradient(inputs.to(dtype), weight.to(dtype))
