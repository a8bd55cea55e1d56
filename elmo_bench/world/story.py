"""A story is a cast and a list of events; every text and every annotation is derived from it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from elmo_bench.world.lexicon import NAMED_KINDS, Scope
from elmo_bench.world.tables import ANYBODY, BELONGINGS, NOUNS, PEOPLE, RELATIONS, Relation


@dataclass(frozen=True)
class Entity:
    """A person or a thing; `noun` is its type in words, `name` may be empty."""

    id: int
    kind: str
    noun: str
    name: tuple[str, ...] = ()
    gender: str = "n"  # f, m or n
    plural: bool = False
    owner: Entity | None = None  # "the mayor of NAME": the noun belongs to the owner


@dataclass(frozen=True)
class Event:
    """One event: a relation, the verb that expresses it, and its participants."""

    relation: Relation
    verb: str  # an entry of the relation's verbs
    subject: Entity
    object: Entity | None
    recipient: Entity | None
    tail: str


@dataclass(frozen=True)
class Story:
    """A cast and its events, in order of telling."""

    id: str
    scope: Scope
    cast: tuple[Entity, ...]
    events: tuple[Event, ...]


CAST_KINDS: tuple[str, ...] = ("person",) * 3 + ("place",) * 2 + ("organisation",) * 2 + ("work",)
_NAMED_SHARE: dict[str, float] = {"person": 0.4, "place": 0.8, "organisation": 0.8, "work": 0.9}

_ABOUT_THINGS = 0.3
_WEIGHTS: dict[str, float] = {"person": 0.5, "place": 0.8, "organisation": 0.8, "work": 1.0}


def write_story(
    identifier: str, scope: Scope, randomness: random.Random, length: int, *, about_names: bool = False
) -> Story:
    """A story with a new cast; `about_names` limits it to participants that can have names."""
    cast = tuple(
        new_entity(
            index, kind, scope, randomness, named=about_names or randomness.random() < _NAMED_SHARE[kind]
        )
        for index, kind in enumerate(CAST_KINDS)
    )
    cast = _without_namesakes(cast)
    extras = len(cast)
    events = []
    for step in range(length):
        relation = draw_relation(randomness)
        while about_names and not _is_about_names(relation):
            relation = draw_relation(randomness)
        events.append(new_event(cast, extras + 4 * step, scope, randomness, relation))
    return Story(identifier, scope, cast, tuple(events))


def _is_about_names(relation: Relation) -> bool:
    return relation.subject in NAMED_KINDS and relation.object in (*NAMED_KINDS, "any", "")


def new_entity(identifier: int, kind: str, scope: Scope, randomness: random.Random, *, named: bool) -> Entity:
    """A person or thing of a type, with a name or only with a noun."""
    if kind == "any":
        kind = randomness.choice(NAMED_KINDS)
    gender = randomness.choice("fm") if kind == "person" else "n"
    nouns = PEOPLE[_people_list(gender, randomness)] if kind == "person" else NOUNS[kind]
    noun = scope.choose(randomness, nouns)
    if named and kind in NAMED_KINDS:
        words = [scope.name_for(randomness, kind)]
        if randomness.random() < 0.3:
            words.append(scope.name_for(randomness, kind))
        return Entity(identifier, kind, noun, tuple(dict.fromkeys(words)), gender)
    return Entity(identifier, kind, noun, (), gender, plural=randomness.random() < 0.2)


def new_event(
    cast: tuple[Entity, ...],
    first_free: int,
    scope: Scope,
    randomness: random.Random,
    relation: Relation | None = None,
) -> Event:
    """An event among the cast; participants outside the cast get ids from `first_free` on."""
    relation = relation or draw_relation(randomness)
    subject = _participant(cast, relation.subject, first_free, scope, randomness)
    others = tuple(member for member in cast if member.id != subject.id)
    target = None
    if relation.object:
        target = _participant(others, relation.object, first_free + 1, scope, randomness)
        others = tuple(member for member in others if member.id != target.id)
    recipient = None
    if relation.recipient:
        recipient = _participant(others, relation.recipient, first_free + 2, scope, randomness)
    verb, tail = scope.choose(randomness, relation.verbs), scope.choose(randomness, relation.tails)
    return Event(relation, verb, subject, target, recipient, tail)


def draw_relation(randomness: random.Random) -> Relation:
    """A relation; relations about things are rarer, and one in twenty does not restrict its object."""
    if randomness.random() < 0.05:
        return ANYBODY
    while True:
        relation = randomness.choice(RELATIONS)
        telling = relation.object or relation.subject
        if randomness.random() < _WEIGHTS.get(telling, _ABOUT_THINGS):
            return relation


def _participant(
    cast: tuple[Entity, ...], kind: str, identifier: int, scope: Scope, randomness: random.Random
) -> Entity:
    members = [member for member in cast if kind in (member.kind, "any")]
    if members and randomness.random() < 0.75:
        return randomness.choice(members)
    owner_kind = randomness.choice(NAMED_KINDS)
    if (kind, owner_kind) in BELONGINGS and randomness.random() < 0.5:
        owners = [member for member in cast if member.kind == owner_kind and member.name]
        noun = scope.choose(randomness, BELONGINGS[kind, owner_kind])
        owner = randomness.choice(owners) if owners else None
        if owner is not None:
            gender = randomness.choice("fm") if kind == "person" else "n"
            return Entity(identifier, kind, noun, owner=owner, gender=gender)
    return new_entity(identifier, kind, scope, randomness, named=not members and randomness.random() < 0.3)


def _people_list(gender: str, randomness: random.Random) -> str:
    return "either" if randomness.random() < 0.6 else {"f": "female", "m": "male"}[gender]


def _without_namesakes(cast: tuple[Entity, ...]) -> tuple[Entity, ...]:
    seen: set[str] = set()
    kept = []
    for member in cast:
        if seen.isdisjoint(member.name):
            kept.append(member)
            seen.update(member.name)
    return tuple(kept)
