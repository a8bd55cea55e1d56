"""Every remark in full once, where a reader meets it first, and by its number from then on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """The remarks beside one table or drawing."""

    first: tuple[tuple[int, str], ...] = ()  # in full; 0 is the number of one that stands nowhere else
    again: tuple[int, ...] = ()


def say_once(places: Sequence[Sequence[str]]) -> list[Said]:
    """What to say at each place, in the order in which they are read."""
    counts = Counter(note for notes in places for note in dict.fromkeys(notes))
    numbers: dict[str, int] = {}
    found = []
    for notes in places:
        first, again = [], []
        for note in dict.fromkeys(notes):
            if note in numbers:
                again.append(numbers[note])
            elif counts[note] > 1:
                numbers[note] = len(numbers) + 1
                first.append((numbers[note], note))
            else:
                first.append((0, note))
        found.append(Said(tuple(first), tuple(again)))
    return found
