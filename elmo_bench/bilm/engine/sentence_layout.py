"""The layout of sentences for the recurrent loop: parallel lanes, each with one sentence after another.

A loop over padded batches wastes the steps in which a short sentence waits for a long one. With lanes, the
next sentence of a lane starts as soon as one ends, with its state reset to zero, so that no row is idle.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROW_STEP = 16  # few distinct row counts, so that few kernels are generated
LEAST_LANES = 2  # oneDNN uses another kernel for a product of one row, and its last bits differ


@dataclass(frozen=True)
class Slot:
    """The slot of one sentence: `length` + 1 steps of a lane, one of them for its first sentence mark."""

    sentence: int
    lane: int
    start: int
    length: int


@dataclass(frozen=True)
class Chunk:
    """Sentences that the network processes together."""

    lanes: int
    steps: int
    slots: tuple[Slot, ...]


def plan_chunks(lengths: Sequence[int], most_lanes: int, most_tokens: int) -> list[Chunk]:
    """Chunks of similar size, each with long and short sentences; empty sentences are left out."""
    order = sorted((index for index, length in enumerate(lengths) if length), key=lambda i: (-lengths[i], i))
    total = sum(lengths[index] + 1 for index in order)
    count = -(-total // most_tokens)
    return [_fill_lanes(order[first::count], lengths, most_lanes) for first in range(min(count, len(order)))]


def _fill_lanes(sentences: Sequence[int], lengths: Sequence[int], most_lanes: int) -> Chunk:
    """Assign each sentence, longest first, to the lane that is free first."""
    total = sum(lengths[index] + 1 for index in sentences)
    fitting = -(-total // (lengths[sentences[0]] + 1))
    lanes = min(most_lanes, max(LEAST_LANES, len(sentences)), -(-fitting // ROW_STEP) * ROW_STEP)
    free = [(0, lane) for lane in range(lanes)]
    slots = []
    for index in sentences:
        start, lane = heapq.heappop(free)
        slots.append(Slot(index, lane, start, lengths[index]))
        heapq.heappush(free, (start + lengths[index] + 1, lane))
    return Chunk(lanes, max(end for end, _ in free), tuple(slots))


@dataclass(frozen=True)
class Side:
    """A chunk as one direction processes it.

    Each direction includes only the sentence mark that it starts from, because its output at the other mark
    is never used. This mark is the first step of a slot in the forward direction, the last in the backward.
    """

    chunk: Chunk
    is_backward: bool

    def first_word(self, slot: Slot) -> int:
        """The step of a sentence's first word."""
        return slot.start if self.is_backward else slot.start + 1

    def order(self) -> range:
        """The steps in processing order."""
        steps = range(self.chunk.steps)
        return steps[::-1] if self.is_backward else steps

    def lay_out(self, rows: Sequence[Sequence[int]], mark: int) -> NDArray[np.int64]:
        """The table row of each cell (steps, lanes); `rows` follow the slots, and 0 fills empty cells."""
        places = np.zeros((self.chunk.steps, self.chunk.lanes), np.int64)
        for slot, words in zip(self.chunk.slots, rows, strict=True):
            marked = [*words, mark] if self.is_backward else [mark, *words]
            places[slot.start : slot.start + len(marked), slot.lane] = marked
        return places

    def beginnings(self) -> Mapping[int, list[int]]:
        """For each step, the lanes in which a sentence starts."""
        lanes: dict[int, list[int]] = defaultdict(list)
        for slot in self.chunk.slots:
            lanes[slot.start + slot.length if self.is_backward else slot.start].append(slot.lane)
        return lanes
