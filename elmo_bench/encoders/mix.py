"""The scalar mix: γ · Σ_j s_j · h_j with s = softmax(w) (Peters et al. 2018, equation 1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmo_bench.nn.dropout import Dropout

EPSILON = 1e-12
CHUNK = 2**18
"""Numbers that are converted at once, so that their copy stays in a processor's cache."""

Moments = tuple[Tensor, Tensor]
"""Mean and 1 / deviation of each layer, both (layers,)."""


class ScalarMix(nn.Module):
    """One (w, γ): a weighted sum of layers, or one layer scaled by γ."""

    gamma: Tensor

    def __init__(
        self,
        layer_count: int,
        mixes: bool = True,
        layer_norm: bool = False,
        dropout: float = 0.0,
        gamma: Literal["learned", "fixed"] = "learned",
    ) -> None:
        super().__init__()
        # Without a mix there is nothing to normalise: the authors' code returns the layer itself (bilm-tf,
        # weight_layers with use_top_only), and so does "last only" in the paper.
        self.layer_norm = layer_norm and mixes
        self.w = nn.Parameter(torch.zeros(layer_count)) if mixes else None
        if gamma == "learned":
            self.gamma = nn.Parameter(torch.ones(()))
        else:
            self.register_buffer("gamma", torch.ones(()))
        self.dropout = Dropout(dropout)

    def forward(self, layers: Tensor, mask: Tensor, known: Moments | None = None) -> Tensor:
        """(rows, layers, time, dim), (rows, time) -> (rows, time, dim); `known` are their moments."""
        if self.w is None:
            mixed = self.gamma * layers.squeeze(1).to(self.gamma.dtype)  # (rows, time, dim)
        elif self.layer_norm:
            mixed = self._mix_normalised(layers, mask, self.gamma * self.w.softmax(dim=0), known)
        else:
            mixed = weigh(layers, self.gamma * self.w.softmax(dim=0))
        dropped: Tensor = self.dropout(mixed)
        return dropped

    def _mix_normalised(self, layers: Tensor, mask: Tensor, weights: Tensor, known: Moments | None) -> Tensor:
        """Σ_j a_j (h_j - m_j) / d_j as (Σ_j b_j h_j) - (Σ_j b_j m_j) with b_j = a_j / d_j, without copies."""
        mean, scale = known or moments(layers, mask, weights.dtype)
        weights = weights * scale
        centred = weigh(layers, weights) - weights @ mean
        return centred * mask[:, :, None].to(centred.dtype)  # padding stays zero

    def penalty(self) -> Tensor:
        """‖w‖², to be multiplied by λ; 0 if one layer was chosen, because then there is no w."""
        return self.gamma.new_zeros(()) if self.w is None else self.w.square().sum()

    def weights(self) -> list[float]:
        """s, one weight per layer; without a mix the one layer has all."""
        if self.w is None:
            return [1.0]
        return [float(share) for share in self.w.detach().softmax(dim=0)]


def weigh(layers: Tensor, weights: Tensor) -> Tensor:
    """(rows, layers, time, dim), (layers,) -> (rows, time, dim) in the dtype of the weights.

    It is differentiable in the weights only, because the layers are frozen.
    """
    weighed: Tensor = _WeightedSum.apply(layers, weights)  # type: ignore[no-untyped-call]
    return weighed


class _WeightedSum(torch.autograd.Function):
    """Y = Σ_j a_j h_j. With G the gradient of Y, that of a_j is Σ G h_j over rows, time and dim.

    The layers are converted a few rows at a time, in both directions. Autograd would keep all of them in the
    dtype of the weights, which is twice what is stored.
    """

    @staticmethod
    def forward(ctx: Any, layers: Tensor, weights: Tensor) -> Tensor:
        ctx.save_for_backward(layers, weights)
        rows, count, time, dim = layers.shape
        weighed = weights.new_empty(rows, 1, time * dim)
        with torch.autocast(layers.device.type, enabled=False):
            for some, target in zip(cut(layers, layers), cut(weighed, layers), strict=True):
                factors = weights.expand(len(some), 1, count)
                torch.bmm(factors, some.to(weights.dtype).flatten(2), out=target)
        return weighed.view(rows, time, dim)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        layers, weights = ctx.saved_tensors
        total = torch.zeros_like(weights)
        with torch.autocast(layers.device.type, enabled=False):
            for some, above in zip(cut(layers, layers), cut(gradient, layers), strict=True):
                total += (some * above.unsqueeze(1)).sum(dim=(0, 2, 3))
        return None, total


def normalise(layers: Tensor, mask: Tensor) -> Tensor:
    """Centre and scale each layer by one mean and variance over the batch's real tokens × dims."""
    mean, scale = (each[:, None, None] for each in moments(layers, mask, layers.dtype))  # (layers, 1, 1)
    return (layers - mean) * scale * mask[:, None, :, None].to(layers.dtype)  # padding stays zero


def moments(layers: Tensor, mask: Tensor, dtype: torch.dtype) -> Moments:
    """The moments of each layer over the batch's real tokens × dims."""
    values = mask.sum().clamp(min=1).to(dtype) * layers.shape[-1]
    total = torch.zeros(layers.shape[1], dtype=dtype, device=layers.device)
    for copied, padding in copies(layers, mask, dtype):
        total += copied.masked_fill_(padding, 0).sum(dim=(0, 2, 3))
    mean = total / values
    squares = torch.zeros_like(total)
    for copied, padding in copies(layers, mask, dtype):
        centred = copied.sub_(mean[:, None, None]).masked_fill_(padding, 0)
        squares += torch.linalg.vector_norm(centred, dim=(0, 2, 3)).square()
    return mean, (squares / values + EPSILON).rsqrt()


def copies(layers: Tensor, mask: Tensor, dtype: torch.dtype) -> Iterator[tuple[Tensor, Tensor]]:
    """Blocks of rows, copied to a dtype, each with its padding mask."""
    for rows, real in zip(cut(layers, layers), cut(mask, layers), strict=True):
        yield rows.to(dtype, copy=True), ~real[:, None, :, None]  # (rows, 1, time, 1)


def cut(rows: Tensor, layers: Tensor) -> tuple[Tensor, ...]:
    """Blocks of rows that fit the processor's cache, of the layers or of a tensor with the same rows."""
    return torch.split(rows, max(1, CHUNK * len(layers) // max(1, layers.numel())))
