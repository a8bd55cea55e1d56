"""Word senses: each sense the mean of its training vectors, a target's sense the nearest (SPEC 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths
from elmo_bench.types import UsageError


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class WsdHeadSettings:
    """What near means; the paper does not say."""

    distance: Literal["cosine", "euclidean"] = "cosine"


class WsdHead(nn.Module):
    """Nearest neighbour among a target's candidate senses; the first one where none has a vector.

    Fields: `spans` (targets, 2) with end 0 at padding; `gold` and `candidates` (targets, n), numbers of
    senses from 1, with 0 for padding and for senses that the training set lacks. Candidates are in the
    inventory's order, so without ELMo, where no sense has a vector, this is the first-sense baseline.
    """

    fitting: ClassVar[Literal["one_pass"]] = "one_pass"
    means: Tensor
    occurrences: Tensor

    def __init__(self, settings: WsdHeadSettings, senses: int, widths: Widths) -> None:
        super().__init__()
        if widths.at_output:
            raise UsageError("elmo.where: nearest neighbours have no recurrent layer; use input or none")
        self.settings = settings
        # row 0 is the sense of padding and of whatever training has not seen: it stays without a vector
        self.register_buffer("means", torch.zeros(senses + 1, widths.at_input))  # sums until finish
        self.register_buffer("occurrences", torch.zeros(senses + 1))

    def observe(self, injected: Mapping[str, Injected], batch: Batch) -> None:
        """Add every target's vector to each of its gold senses."""
        targets, vectors = target_vectors(injected["text"], batch.fields["spans"])
        gold = batch.fields["gold"][targets]  # (targets, n)
        target, place = gold.nonzero(as_tuple=True)
        senses = gold[target, place]
        self.means.index_add_(0, senses, vectors[target])
        self.occurrences.index_add_(0, senses, torch.ones_like(senses, dtype=self.occurrences.dtype))

    def finish(self) -> None:
        """Turn sums into means."""
        self.means.div_(self.occurrences.clamp(min=1).unsqueeze(1))

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """How near each candidate is, minus infinity where it has no vector; there is no loss."""
        targets, vectors = target_vectors(injected["text"], batch.fields["spans"])
        candidates = batch.fields["candidates"][targets]  # (targets, n)
        target, place = candidates.nonzero(as_tuple=True)
        own, other = vectors[target], self.means[candidates[target, place]]  # (pairs, dim)
        near = torch.full(candidates.shape, -torch.inf, device=own.device)
        near[target, place] = torch.where(other.any(dim=1), self.nearness(own, other), -torch.inf)
        return HeadOutput(torch.zeros((), device=own.device), {"nearness": near})

    def nearness(self, left: Tensor, right: Tensor) -> Tensor:
        """Larger is nearer, (pairs,)."""
        if self.settings.distance == "cosine":
            return torch.cosine_similarity(left, right, dim=1)
        distance: Tensor = torch.linalg.vector_norm(left - right, dim=1)
        return -distance

    def decode(self, output: HeadOutput, batch: Batch) -> list[list[int]]:
        """The number of each target's sense in its list of candidates, from 1 as in WordNet."""
        chosen = iter((output.scores["nearness"].argmax(dim=1) + 1).tolist())  # of equals the first
        counts = (batch.fields["spans"][:, :, 1] > 0).sum(1).tolist()
        return [[next(chosen) for _ in range(count)] for count in counts]


def target_vectors(text: Injected, spans: Tensor) -> tuple[Tensor, Tensor]:
    """Which spans (rows, targets, 2) are real, and the mean vector of the words of each, (targets, dim)."""
    targets = spans[:, :, 1] > 0  # (rows, targets)
    rows = targets.nonzero()[:, 0]  # (targets,)
    start, end = spans[targets].unbind(1)
    positions = torch.arange(text.mask.shape[1], device=spans.device)
    inside = (positions >= start.unsqueeze(1)) & (positions < end.unsqueeze(1))  # (targets, time)
    target, position = inside.nonzero(as_tuple=True)
    sums = text.at_input.new_zeros(len(rows), text.at_input.shape[2])
    sums.index_add_(0, target, text.at_input[rows[target], position])
    return targets, sums / (end - start).unsqueeze(1)
