"""Which label may follow which: the legal sequences of a tag scheme, as masks for Viterbi."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

_BOUNDARY = "O"  # a sequence begins and ends as if an O stood beside it, in both schemes


@dataclass(frozen=True)
class Constraints:
    """True where a label may open a sequence, follow another, or close a sequence."""

    start: Tensor  # (labels,)
    between: Tensor  # (labels, labels), from row to column
    end: Tensor  # (labels,)


def bioul_constraints(labels: tuple[str, ...]) -> Constraints:
    """Begin, inside, last and unit: an open chunk must go on with its own type until its last word."""
    return _constraints(labels, _follows_in_bioul)


def bio_constraints(labels: tuple[str, ...]) -> Constraints:
    """Begin and inside: only I-X must follow B-X or I-X; a sequence cannot start inside (SPEC 3.3)."""
    return _constraints(labels, _follows_in_bio)


def _constraints(labels: tuple[str, ...], follows: Callable[[str, str], bool]) -> Constraints:
    def masked(firsts: tuple[str, ...], seconds: tuple[str, ...]) -> Tensor:
        return torch.tensor([[follows(first, second) for second in seconds] for first in firsts])

    return Constraints(
        start=masked((_BOUNDARY,), labels)[0],
        between=masked(labels, labels),
        end=masked(labels, (_BOUNDARY,))[:, 0],
    )


def _follows_in_bioul(first: str, second: str) -> bool:
    (before, kind), (after, other_kind) = (first[:1], first[2:]), (second[:1], second[2:])
    if before in "BI":
        return after in "IL" and kind == other_kind
    return after in "OBU"


def _follows_in_bio(first: str, second: str) -> bool:
    return second[:1] != "I" or (first[:1] in "BI" and first[2:] == second[2:])
