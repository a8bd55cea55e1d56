"""Coreference: short documents that state the gender or type of each name only once."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elmo_bench.world.lexicon import Scope, seeded
from elmo_bench.world.sentences import Mention, Sentence
from elmo_bench.world.story import Entity, Event, new_event
from elmo_bench.world.surface import Teller
from elmo_bench.world.tables import NOUNS, PEOPLE, RELATIONS, Pattern

_NOUNS_BY_GENDER: dict[str, tuple[str, ...]] = {"f": PEOPLE["female"], "m": PEOPLE["male"]}
_TOLD = (
    "S V:VBD O .",
    "S V:VBD O T .",
    "S V:VBD O W .",
    "S M V:VBD O .",
    "S began to V:VB O .",
    "W , S V:VBD O .",
)
_TOLD_ALONE = ("S V:VBD T .", "S M V:VBD .", "W , S V:VBD T .")


@dataclass(frozen=True)
class Document:
    """A named document whose sentences share one cast."""

    name: str
    sentences: tuple[Sentence, ...]


def write_document(split: str, number: int, length: int) -> Document:
    """Introduce two people of different gender and two other things, then tell events about them."""
    randomness = seeded("chains", split, number)
    scope = Scope(split.partition("/")[0])
    cast = _cast(scope, randomness)
    sentences = [_introduction(member, scope, randomness) for member in cast]
    recent: tuple[Entity, ...] = cast[:2]
    for _ in range(length):
        event = _event(cast, scope, randomness)
        pronouns = frozenset(
            member.id for member in recent if _is_clear(member, recent) and randomness.random() < 0.7
        )
        described = frozenset(
            member.id for member in cast if member.id not in pronouns and randomness.random() < 0.35
        )
        sentence = _tell(event, scope, randomness, pronouns, described)
        sentences.append(sentence)
        told = {mention.entity.id for mention in sentence.mentions} or {member.id for member in recent}
        recent = tuple(member for member in cast if member.id in told)
    return Document(f"world/{split}/{number:04d}", tuple(sentences))


def _cast(scope: Scope, randomness: random.Random) -> tuple[Entity, ...]:
    genders = randomness.sample(["f", "m"], 2)
    kinds = ["person", "person", *randomness.sample(["place", "organisation", "work"], 2)]
    members: list[Entity] = []
    while len(members) < len(kinds):
        kind = kinds[len(members)]
        gender = genders[len(members)] if kind == "person" else "n"
        name = scope.name_for(randomness, kind)
        nouns = _NOUNS_BY_GENDER.get(gender, NOUNS[kind])
        if all(name not in member.name for member in members):
            members.append(Entity(len(members), kind, scope.choose(randomness, nouns), (name,), gender))
    return tuple(members)


def _introduction(member: Entity, scope: Scope, randomness: random.Random) -> Sentence:
    """The only sentence that states what the name refers to."""
    teller = Teller(new_event((member,), 10, scope, randomness), scope, randomness, frozenset(), frozenset())
    return teller.introduce(member)


def _event(cast: tuple[Entity, ...], scope: Scope, randomness: random.Random) -> Event:
    kinds = {member.kind for member in cast}
    possible = [
        relation
        for relation in RELATIONS
        if relation.subject in kinds
        and (relation.object in kinds or not relation.object)
        and not relation.recipient
    ]
    event = new_event(cast, 10, scope, randomness, randomness.choice(possible))
    subjects = [member for member in cast if member.kind == event.relation.subject]
    subject = randomness.choice(subjects)
    objects = [member for member in cast if member.kind == event.relation.object and member.id != subject.id]
    if not event.relation.object:
        return Event(event.relation, event.verb, subject, None, None, event.tail)
    if not objects:
        return _event(cast, scope, randomness)
    return Event(event.relation, event.verb, subject, randomness.choice(objects), None, event.tail)


def _is_clear(member: Entity, recent: Iterable[Entity]) -> bool:
    """Whether a pronoun for an entity is unambiguous among the entities just mentioned."""
    return sum(other.gender == member.gender for other in recent) == 1


def _tell(
    event: Event, scope: Scope, randomness: random.Random, pronouns: frozenset[int], described: frozenset[int]
) -> Sentence:
    patterns = _TOLD if event.object is not None else _TOLD_ALONE
    teller = Teller(event, scope, randomness, described, pronouns, by_noun=True)
    return teller.tell(Pattern(randomness.choice(patterns)))


def conll2012_chains(documents: Sequence[Document]) -> str:
    """Twelve columns with the chains last; an entity that is mentioned only once has no chain."""
    blocks = []
    for document in documents:
        blocks.append(f"#begin document ({document.name}); part 000\n")
        chains = _chain_numbers(document)
        for sentence in document.sentences:
            column = _chain_column(sentence, chains)
            for position, token in enumerate(sentence.tokens):
                fields = [document.name, "0", str(position), token.word, token.tag, "*", *"----", "*"]
                blocks.append("\t".join([*fields, column[position]]) + "\n")
            blocks.append("\n")
        blocks.append("#end document\n")
    return "".join(blocks)


def _chain_numbers(document: Document) -> dict[int, int]:
    counts: dict[int, int] = {}
    for sentence in document.sentences:
        for mention in sentence.mentions:
            counts[mention.entity.id] = counts.get(mention.entity.id, 0) + 1
    repeated = [identifier for identifier, count in counts.items() if count > 1]
    return {identifier: number for number, identifier in enumerate(repeated)}


def _chain_column(sentence: Sentence, chains: dict[int, int]) -> list[str]:
    parts: list[list[str]] = [[] for _ in sentence.tokens]
    for mention in sentence.mentions:
        number = chains.get(mention.entity.id)
        if number is not None:
            _bracket(parts, mention, number)
    return ["|".join(part) or "-" for part in parts]


def _bracket(parts: list[list[str]], mention: Mention, number: int) -> None:
    if mention.end - mention.start == 1:
        parts[mention.start].append(f"({number})")
    else:
        parts[mention.start].append(f"({number}")
        parts[mention.end - 1].append(f"{number})")
