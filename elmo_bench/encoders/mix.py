"""The scalar mix: γ · Σ_j s_j · h_j with s = softmax(w) (Peters et al. 2018, equation 1)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from elmo_bench.nn.dropout import Dropout
from elmo_bench.types import UsageError

EPSILON = 1e-12


class ScalarMix(nn.Module):
    """One (w, γ): a weighted sum of all layers, or one chosen layer scaled by γ."""

    gamma: Tensor

    def __init__(
        self,
        layer_count: int,
        layers: Literal["all", "last"] | int = "all",
        layer_norm: bool = False,
        dropout: float = 0.0,
        gamma: Literal["learned", "fixed"] = "learned",
    ) -> None:
        super().__init__()
        self.layer_count = layer_count
        self.only = chosen_layer(layers, layer_count)
        # Without a mix there is nothing to normalise: the authors' code returns the layer itself (bilm-tf,
        # weight_layers with use_top_only), and so does "last only" in the paper.
        self.layer_norm = layer_norm and self.only is None
        self.w = nn.Parameter(torch.zeros(layer_count)) if self.only is None else None
        if gamma == "learned":
            self.gamma = nn.Parameter(torch.ones(()))
        else:
            self.register_buffer("gamma", torch.ones(()))
        self.dropout = Dropout(dropout)

    def forward(self, layers: Tensor, mask: Tensor) -> Tensor:
        """(rows, layers, time, dim), (rows, time) -> (rows, time, dim)"""
        if self.w is None:
            mixed = self.gamma * layers[:, self.only].to(self.gamma.dtype)  # (rows, time, dim)
        else:
            layers = layers.to(self.gamma.dtype)
            if self.layer_norm:
                layers = normalise(layers, mask)
            mixed = torch.tensordot(self.gamma * self.w.softmax(dim=0), layers, dims=([0], [1]))
        dropped: Tensor = self.dropout(mixed)
        return dropped

    def penalty(self) -> Tensor:
        """‖w‖², to be multiplied by λ; 0 if one layer was chosen, because then there is no w."""
        return self.gamma.new_zeros(()) if self.w is None else self.w.square().sum()

    def weights(self) -> list[float]:
        """s, one weight per layer of the encoder."""
        if self.w is None:
            return [float(layer == self.only) for layer in range(self.layer_count)]
        return [float(share) for share in self.w.detach().softmax(dim=0)]


def chosen_layer(layers: Literal["all", "last"] | int, layer_count: int) -> int | None:
    """The index that `elmo.layers` names, checked against the encoder; None for all of them."""
    if layers == "all":
        return None
    if layers == "last":
        return layer_count - 1
    if layers in range(layer_count):
        return layers
    raise UsageError(
        f"elmo.layers={layers} does not exist: this encoder has layers 0 to {layer_count - 1}; "
        f"give all, last or one of these indices"
    )


def normalise(layers: Tensor, mask: Tensor) -> Tensor:
    """Centre and scale each layer by one mean and variance over the batch's real tokens × dims."""
    real = mask[:, None, :, None].to(layers.dtype)  # (rows, 1, time, 1)
    values = real.sum().clamp(min=1) * layers.shape[-1]
    mean = (layers * real).sum(dim=(0, 2, 3), keepdim=True) / values  # (1, layers, 1, 1)
    centred = (layers - mean) * real  # padding stays zero
    variance = centred.square().sum(dim=(0, 2, 3), keepdim=True) / values  # (1, layers, 1, 1)
    return centred * (variance + EPSILON).rsqrt()
