"""How sentences are laid side by side for the recurrent loop: lanes of sentences one after another.

A loop over padded batches wastes the steps that a short sentence waits for a long one. Here every lane takes
its next sentence as soon as one ends, its state set to zero in between, so that all rows work at every step.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROW_STEP = 16  # few different row counts, so that few kernels are generated
LEAST_LANES = 2  # a product of one row takes another way through oneDNN, with other last bits than of many


@dataclass(frozen=True)
class Slot:
    """Where one sentence lies: `length` + 1 steps of a lane, one of them for the mark it starts from."""

    sentence: int
    lane: int
    start: int
    length: int


@dataclass(frozen=True)
class Chunk:
    """Sentences that go through the network together."""

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
    """Give each sentence, longest first, to the lane that is free first."""
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
    """A chunk as one direction sees it.

    Each direction takes only the mark it starts from: what it computes at the other one is never used.
    Forward that mark is the first step of a slot, backward the last.
    """

    chunk: Chunk
    is_backward: bool

    def first_word(self, slot: Slot) -> int:
        """The step at which the first word of a sentence stands."""
        return slot.start if self.is_backward else slot.start + 1

    def order(self) -> range:
        """The steps in the order they are taken."""
        steps = range(self.chunk.steps)
        return steps[::-1] if self.is_backward else steps

    def lay_out(self, rows: Sequence[Sequence[int]], mark: int) -> NDArray[np.int64]:
        """The table row of each place (steps, lanes); `rows` follow the slots, and 0 fills free places."""
        places = np.zeros((self.chunk.steps, self.chunk.lanes), np.int64)
        for slot, words in zip(self.chunk.slots, rows, strict=True):
            marked = [*words, mark] if self.is_backward else [mark, *words]
            places[slot.start : slot.start + len(marked), slot.lane] = marked
        return places

    def beginnings(self) -> Mapping[int, list[int]]:
        """By step, the lanes in which a sentence begins."""
        lanes: dict[int, list[int]] = defaultdict(list)
        for slot in self.chunk.slots:
            lanes[slot.start + slot.length if self.is_backward else slot.start].append(slot.lane)
        return lanes
