"""Texts that are longer than a model's window: overlapping windows of whole words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
"""The number of pieces of every word."""


@dataclass(frozen=True)
class Window:
    """Words that are read together, and those of them whose vectors are taken from here."""

    read: slice
    taken: slice


def plan_windows(pieces: Counts, size: int, looks_back_only: bool = False) -> list[Window]:
    """Windows of at most `size` pieces that overlap by half, in which every word is taken once.

    A word is taken from the window in which its shorter side has most context. The ends of the text are no
    limit: nothing is missing there. A model that looks back only has its context on the left. No word may
    have more than half of `size` pieces; `shorten` sees to that.
    """
    ends = np.cumsum(pieces)
    starts = ends - pieces
    bounds = _bounds(starts, ends, size)
    splits = [0]
    for (_, before), (start, _) in pairwise(bounds):
        right = ends[before - 1] - ends[start:before]  # context that the window before has after each word
        left = starts[start:before] - starts[start]  # context that this window has before each word
        splits.append(before if looks_back_only else start + int((right >= left).sum()))
    splits.append(len(pieces))
    return [
        Window(slice(*bound), slice(first, last))
        for bound, (first, last) in zip(bounds, pairwise(splits), strict=True)
    ]


def _bounds(starts: Counts, ends: Counts, size: int) -> list[tuple[int, int]]:
    """The first and last word of every window; the last window is as full as the others."""
    bounds, start = [], 0
    while ends[-1] - starts[start] > size:
        bounds.append((start, int(np.searchsorted(ends, starts[start] + size, side="right"))))
        start = max(start + 1, int(np.searchsorted(starts, starts[start] + size // 2)))
    last = int(np.searchsorted(starts, ends[-1] - size))
    return [*bounds, (last, len(ends))]


def shorten(pieces: tuple[int, ...], most: int) -> tuple[int, ...]:
    """The beginning and the end of a word that has more pieces than `most`."""
    if len(pieces) <= most:
        return pieces
    head = most - most // 2
    return pieces[:head] + pieces[len(pieces) - most // 2 :]
