"""The words that a split of the world may use, and the random generators that draw them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from elmo_bench.world.english import Verb, conjugate
from elmo_bench.world.tables import NAME_PARTS, NOUNS, RELATIONS

T = TypeVar("T")


def seeded(*keys: str | int) -> random.Random:
    """A generator that depends only on its keys, so no part of the world depends on another part's length.

    `random` hashes the text of the keys; PYTHONHASHSEED has no influence.
    """
    return random.Random("elmo_bench world/" + "/".join(str(key) for key in keys))


def _shuffled_names() -> tuple[str, ...]:
    built = [first + last for first in NAME_PARTS["first_halves"] for last in NAME_PARTS["last_halves"]]
    randomness = seeded("names")
    chosen = [*randomness.sample(built, 212), *NAME_PARTS["words"]]
    randomness.shuffle(chosen)
    return tuple(chosen)


NAMES: tuple[str, ...] = _shuffled_names()
NAMED_KINDS: tuple[str, ...] = ("person", "place", "organisation", "work")
NAME_POOLS: dict[str, tuple[str, ...]] = {
    "train": NAMES[:80],
    "dev": NAMES[80:160],
    "test": NAMES[160:],
    "text": NAMES,
}


@dataclass(frozen=True)
class Scope:
    """The vocabulary of one split: `train`, `dev` and `test` are labelled, `text` is the plain text."""

    name: str

    @property
    def description_rate(self) -> float:
        """The probability that a name has a description; lower in labelled data."""
        return 0.6 if self.name == "text" else 0.25

    @property
    def double_edged_rate(self) -> float:
        """The probability of an adjective whose sentiment depends on its subject; 0 in labelled reviews.

        A head cannot learn this conjunction from a few hundred reviews; it would only add noise.
        """
        return 0.25 if self.name == "text" else 0.0

    def words(self, entries: Sequence[T]) -> Sequence[T]:
        """The entries of a list that this split may use: every third one in labelled training data."""
        return entries[::3] if self.name == "train" and len(entries) > 3 else entries

    def choose(self, randomness: random.Random, entries: Sequence[T]) -> T:
        """One entry of a list; in dev and test, every second draw is from the entries of training data."""
        known = self.name in ("dev", "test") and randomness.random() < 0.5
        return randomness.choice(Scope("train").words(entries) if known else self.words(entries))

    def name_for(self, randomness: random.Random, kind: str) -> str:
        """A name; every name is used for every type of entity, and for its favourite type more often."""
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
    """(lemma, n or v) -> its noun types or relations, for words that have several."""
    found: dict[tuple[str, str], list[str]] = {}
    for kind, nouns in NOUNS.items():
        for noun in nouns:
            found.setdefault((noun, "n"), []).append(kind)
    for relation in RELATIONS:
        for spelling in relation.verbs:
            found.setdefault((verb(spelling).base, "v"), []).append(relation.name)
    return {key: tuple(dict.fromkeys(of)) for key, of in found.items() if len(set(of)) > 1}
