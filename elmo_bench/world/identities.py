"""Entailment pairs about names: what somebody or something must be, from nothing but what it does."""

from __future__ import annotations

import random

from elmo_bench.world.grammar import frames_for
from elmo_bench.world.inflection import article
from elmo_bench.world.lexicon import NAMED_KINDS, Scope
from elmo_bench.world.nouns import NOUNS, PEOPLE
from elmo_bench.world.relations import RELATIONS
from elmo_bench.world.sentences import Sentence
from elmo_bench.world.story import Entity, Event, new_entity, new_event
from elmo_bench.world.surface import Teller

_CAST_KINDS = tuple(kind for kind in NAMED_KINDS for _ in range(2))
_TELLING = tuple(r for r in RELATIONS if r.subject in NAMED_KINDS and r.object in (*NAMED_KINDS, ""))


def draw_identity(label: str, scope: Scope, randomness: random.Random) -> tuple[str, str]:
    """An event among names, and a claim about what one of them is.

    That it is of its kind follows, a trade or sort of that kind is open, and any other kind is ruled out.
    """
    while True:
        event = _event(scope, randomness)
        named = [member for member in (event.subject, event.object) if member is not None and member.name]
        told = _tell_by_name(event, scope, randomness)
        mentioned = [member for member in named if any(m.name and m.entity == member for m in told.mentions)]
        if mentioned:
            about = randomness.choice(mentioned)
            noun = _noun(label, about.kind, scope, randomness)
            return " ".join(told.words), f"{' '.join(about.name)} was {article(noun)} {noun} ."


def _event(scope: Scope, randomness: random.Random) -> Event:
    cast: list[Entity] = []
    while len(cast) < len(_CAST_KINDS):
        member = new_entity(len(cast), _CAST_KINDS[len(cast)], scope, randomness, named=True)
        if all(set(member.name).isdisjoint(other.name) for other in cast):
            cast.append(member)
    return new_event(tuple(cast), len(cast), scope, randomness, randomness.choice(_TELLING))


def _tell_by_name(event: Event, scope: Scope, randomness: random.Random) -> Sentence:
    """The event without a word on what its names stand for."""
    frames = frames_for(event)
    frame = randomness.choices(frames, [frame.weight for frame in frames])[0]
    return Teller(event, scope, randomness, frozenset(), frozenset(), by_noun=True).tell(frame)


def _noun(label: str, kind: str, scope: Scope, randomness: random.Random) -> str:
    if label == "entailment":
        return kind
    if label == "neutral":  # no noun that a "he" or "she" in the premise could speak against
        return scope.choose(randomness, PEOPLE["either"] if kind == "person" else NOUNS[kind])
    other = randomness.choice([rival for rival in NAMED_KINDS if rival != kind])
    if randomness.random() < 0.5:
        return other
    # a bank may be a place and an organisation
    return scope.choose(randomness, [noun for noun in NOUNS[other] if noun not in NOUNS[kind]])
