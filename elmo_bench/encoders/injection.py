"""The injection points of ELMo in a head: before its first RNN, after it, both, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from elmo_bench.config import ElmoConfig
from elmo_bench.encoders.mix import Moments, ScalarMix, moments
from elmo_bench.tensors import Injected, Stream, Widths

PLACES = {"none": (), "input": ("input",), "output": ("output",), "both": ("input", "output")}


class Injection(nn.Module):
    """One scalar mix per injection point, shared by all streams; an unused point has width 0.

    `layers` are the numbers of the layers that streams have (`encoders.layers.layers_read`).
    """

    def __init__(self, elmo: ElmoConfig, layers: Sequence[int], dim: int) -> None:
        super().__init__()
        self.layers = tuple(layers)
        self.mixes = nn.ModuleDict(
            {
                place: ScalarMix(len(layers), elmo.layers == "all", elmo.layer_norm, elmo.dropout, elmo.gamma)
                for place in PLACES[elmo.where]
            }
        )
        self.widths = Widths(
            at_input=dim if "input" in self.mixes else 0, at_output=dim if "output" in self.mixes else 0
        )

    def forward(self, streams: Mapping[str, Stream]) -> dict[str, Injected]:
        """Mix every stream once per injection point; the moments of its layers serve all points."""
        return {name: self._inject(stream) for name, stream in streams.items()}

    def penalty(self) -> Tensor:
        """Σ ‖w‖² over the injection points, to be multiplied by λ."""
        return sum((mix.penalty() for mix in self._each().values()), start=torch.zeros(()))

    def learnt(self) -> dict[str, dict[str, Any]]:
        """s = softmax(w) with the numbers of its layers, and γ, of every injection point, for the record."""
        return {
            place: {
                "layers": list(self.layers),
                "weights": mix.weights(),
                "gamma": float(mix.gamma.detach()),
            }
            for place, mix in self._each().items()
        }

    def _inject(self, stream: Stream) -> Injected:
        normalising = [mix for mix in self._each().values() if mix.layer_norm]
        known = moments(stream.layers, stream.mask, normalising[0].gamma.dtype) if normalising else None
        return Injected(self._mix("input", stream, known), self._mix("output", stream, known), stream.mask)

    def _mix(self, place: str, stream: Stream, known: Moments | None) -> Tensor:
        if place in self.mixes:
            mixed: Tensor = self.mixes[place](stream.layers, stream.mask, known)  # (rows, time, dim)
            return mixed
        return torch.zeros((*stream.mask.shape, 0), device=stream.mask.device)

    def _each(self) -> dict[str, ScalarMix]:
        return {place: mix for place, mix in self.mixes.items() if isinstance(mix, ScalarMix)}
