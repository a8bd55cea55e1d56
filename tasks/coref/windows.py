"""The sentences of a document that one step reads: all of them, or a random window of a long document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from torch import Tensor


@dataclass(frozen=True)
class Window:
    """Consecutive sentences of every document; sentences are the rows of a batch."""

    rows: Tensor  # (chosen,) numbers among the rows of the batch
    places: tuple[Tensor, Tensor]  # (chosen,) each: the document, and the number within it
    counts: tuple[int, ...]  # by document
    skipped: tuple[int, ...]  # tokens of each document before its window

    @classmethod
    def of(cls, counts: Sequence[int], mask: Tensor, limit: int | None) -> Window:
        """At most `limit` sentences of each document, from a place drawn by torch's generator."""
        rows: list[int] = []
        documents: list[int] = []
        numbers: list[int] = []
        skipped: list[int] = []
        lengths = mask.sum(1).tolist()  # (rows,)
        for document, (first, end) in enumerate(pairwise(accumulate(counts, initial=0))):
            spare = max(0, end - first - limit) if limit else 0
            start = int(torch.randint(spare + 1, ())) if spare else 0
            kept = range(start, end - first - spare + start)
            rows += [first + number for number in kept]
            documents += [document] * len(kept)
            numbers += kept
            skipped.append(sum(lengths[first : first + start]))
        kept_counts = tuple(min(count, limit or count) for count in counts)
        chosen, by_document, by_number = (
            torch.tensor(each, device=mask.device) for each in (rows, documents, numbers)
        )
        return cls(chosen, (by_document, by_number), kept_counts, tuple(skipped))

    def select(self, field: Tensor) -> Tensor:
        """(documents, sentences, ...) to (chosen, ...)."""
        return field[self.places]

    def left(self, mask: Tensor) -> Tensor:
        """How many tokens its sentence has from each token on, itself included, (tokens,)."""
        after = mask.sum(1, keepdim=True) - torch.arange(mask.shape[1], device=mask.device)  # (rows, time)
        return after[mask]

    def tokens(self, mask: Tensor) -> list[slice]:
        """The tokens of every document among those of all chosen sentences, whose mask this is."""
        ends = mask.sum(1).cumsum(0)[torch.tensor(list(accumulate(self.counts)), device=mask.device) - 1]
        return [slice(start, end) for start, end in pairwise([0, *ends.tolist()])]
