"""Which words a part of the world may use: the labelled training sets know a third of every list."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from elmo_bench.world.inflection import Verb, conjugate
from elmo_bench.world.names import NAMES
from elmo_bench.world.nouns import NOUNS
from elmo_bench.world.relations import RELATIONS

T = TypeVar("T")

NAMED_KINDS: tuple[str, ...] = ("person", "place", "organisation", "work")
NAME_POOLS: dict[str, tuple[str, ...]] = {
    "train": NAMES[:80],
    "dev": NAMES[80:160],
    "test": NAMES[160:],
    "text": NAMES,
}


@dataclass(frozen=True)
class Scope:
    """The vocabulary of one part: `train`, `dev` and `test` are labelled, `text` is the plain text."""

    name: str

    @property
    def description_rate(self) -> float:
        """How often a name is explained on the spot; labelled data do so less."""
        return 0.6 if self.name == "text" else 0.25

    @property
    def double_edged_rate(self) -> float:
        """How often a judgement is praise or blame by what it is about; labelled reviews leave such out.

        None of the heads learnt that conjunction from some hundred reviews, so all it added was noise.
        """
        return 0.25 if self.name == "text" else 0.0

    def words(self, listed: Sequence[T]) -> Sequence[T]:
        """What this part may use of a list; labelled training data know every third entry."""
        return listed[::3] if self.name == "train" and len(listed) > 3 else listed

    def choose(self, randomness: random.Random, listed: Sequence[T]) -> T:
        """One entry of a list; half of what is tested is what training data may have shown."""
        known = self.name in ("dev", "test") and randomness.random() < 0.5
        return randomness.choice(Scope("train").words(listed) if known else self.words(listed))

    def name_for(self, randomness: random.Random, kind: str) -> str:
        """A name; every name serves every kind, one of the four somewhat more often."""
        pool = NAME_POOLS[self.name]
        name = randomness.choice(pool)
        while _favourite_kind(name) != kind and randomness.random() < 0.5:
            name = randomness.choice(pool)
        return name


@cache
def _favourite_kind(name: str) -> str:
    return NAMED_KINDS[NAMES.index(name) % len(NAMED_KINDS)]


@cache
def verb(spelling: str) -> Verb:
    """The verb of a relation's entry."""
    return conjugate(spelling)


@cache
def senses() -> dict[tuple[str, str], tuple[str, ...]]:
    """(lemma, n or v) -> the shelves or relations it stands in, for words that stand in several."""
    found: dict[tuple[str, str], list[str]] = {}
    for kind, nouns in NOUNS.items():
        for noun in nouns:
            found.setdefault((noun, "n"), []).append(kind)
    for relation in RELATIONS:
        for spelling in relation.verbs:
            found.setdefault((verb(spelling).base, "v"), []).append(relation.name)
    return {key: tuple(dict.fromkeys(of)) for key, of in found.items() if len(set(of)) > 1}
