"""Vocabularies: the ids of words, characters and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from elmo_bench.data.word_table import WordTable
from elmo_bench.types import BenchError

PADDING = "<padding>"
UNKNOWN = "<unknown>"


@dataclass(frozen=True)
class Vocabulary:
    """Strings and their ids; an open vocabulary reserves 0 for padding and 1 for unseen strings."""

    items: tuple[str, ...]

    @classmethod
    def open(cls, items: Iterable[str], minimum_count: int = 1) -> Vocabulary:
        """Padding, unknown, then items by decreasing frequency (ties in alphabetical order)."""
        counted = Counter(items)
        kept = sorted(
            (item for item, n in counted.items() if n >= minimum_count), key=lambda i: (-counted[i], i)
        )
        return cls((PADDING, UNKNOWN, *kept))

    @classmethod
    def closed(cls, items: Iterable[str]) -> Vocabulary:
        """Labels in alphabetical order, without reserved ids; any other label is an error."""
        return cls(tuple(sorted(set(items))))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {item: index for index, item in enumerate(self.items)}

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item: object) -> bool:
        return item in self._ids

    def id_of(self, item: str) -> int:
        """The id of an item; of an unseen item an open vocabulary returns 1, a closed one raises an error."""
        known = self._ids.get(item)
        if known is not None:
            return known
        if UNKNOWN in self._ids:
            return self._ids[UNKNOWN]
        raise BenchError(
            f"{item!r} is not among the {len(self)} labels of the training data ({', '.join(self.items[:8])})"
        )

    def ids(self, items: Iterable[str]) -> list[int]:
        """The ids of some items, in their order."""
        known = self._ids
        listed = list(items)
        try:
            return [known[item] for item in listed]
        except KeyError:
            return [self.id_of(item) for item in listed]


def spell(words: Sequence[str], characters: Vocabulary) -> Tensor:
    """(words, characters) the ids of the characters of each word, with zeros after those of shorter words."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    spelt = np.zeros((len(words), lengths.max(initial=0)), np.int64)
    # a boolean index takes the values row by row, in the order of the text
    spelt[np.arange(spelt.shape[1]) < lengths[:, None]] = characters.ids("".join(words))
    return torch.from_numpy(spelt)


@dataclass(frozen=True)
class Vocabularies:
    """The mappings from strings to ids: the word table and the task's own vocabularies."""

    words: WordTable
    named: Mapping[str, Vocabulary]

    def __getitem__(self, name: str) -> Vocabulary:
        return self.named[name]
