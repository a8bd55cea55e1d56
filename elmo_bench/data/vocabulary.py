"""Numbered sets of strings: words, characters, labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from elmo_bench.data.vectors import WordTable
from elmo_bench.types import BenchError

PADDING = "<padding>"
UNKNOWN = "<unknown>"


@dataclass(frozen=True)
class Vocabulary:
    """Strings by number; an open vocabulary keeps 0 for padding and 1 for whatever it has not seen."""

    items: tuple[str, ...]

    @classmethod
    def open(cls, items: Iterable[str], minimum_count: int = 1) -> Vocabulary:
        """Padding, unknown, then items by falling frequency (ties in alphabetical order)."""
        counted = Counter(items)
        kept = sorted(
            (item for item, n in counted.items() if n >= minimum_count), key=lambda i: (-counted[i], i)
        )
        return cls((PADDING, UNKNOWN, *kept))

    @classmethod
    def closed(cls, items: Iterable[str]) -> Vocabulary:
        """Labels in alphabetical order; nothing is reserved and nothing else is accepted."""
        return cls(tuple(sorted(set(items))))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {item: number for number, item in enumerate(self.items)}

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item: object) -> bool:
        return item in self._numbers

    def number(self, item: str) -> int:
        """The number of an item; an open vocabulary answers 1 for a stranger, a closed one refuses."""
        known = self._numbers.get(item)
        if known is not None:
            return known
        if UNKNOWN in self._numbers:
            return self._numbers[UNKNOWN]
        raise BenchError(
            f"{item!r} is not among the {len(self)} labels of the training data ({', '.join(self.items[:8])})"
        )

    def numbers(self, items: Iterable[str]) -> list[int]:
        return [self.number(item) for item in items]


@dataclass(frozen=True)
class Vocabularies:
    """All that turns an example's strings into numbers: the word table and the task's own vocabularies."""

    words: WordTable
    named: Mapping[str, Vocabulary]

    def __getitem__(self, name: str) -> Vocabulary:
        return self.named[name]
