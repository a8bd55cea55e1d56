"""Entailment pairs: captions whose label depends on relation, negation and quantity, and pairs about names.

Shared words do not reveal the label.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from elmo_bench.world.english import article, pluralise
from elmo_bench.world.lexicon import NAMED_KINDS, Scope, seeded, verb
from elmo_bench.world.sentences import Sentence, tagged
from elmo_bench.world.story import Entity, Event, new_entity, new_event
from elmo_bench.world.surface import Teller, patterns_for
from elmo_bench.world.tables import NOUNS, PEOPLE, RELATIONS, Relation

LABELS = ("entailment", "neutral", "contradiction")
COUNTS: tuple[str, ...] = ("two", "three", "four", "five", "six", "seven")
GENERAL: dict[str, tuple[str, str]] = {
    "person": ("person", "people"), "animal": ("animal", "animals"), "vehicle": ("vehicle", "vehicles"),
    "machine": ("machine", "machines"), "organism": ("plant", "plants"), "weapon": ("weapon", "weapons"),
    "organisation": ("organisation", "organisations"), "clothing": ("garment", "garments"),
    "place": ("place", "places"),
}  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Things of one noun: `count` is a number word, "a" for one, "some" for a few, "no" for none."""

    kind: str
    noun: str
    count: str = "a"

    @property
    def is_plural(self) -> bool:
        """Whether the noun is in the plural."""
        return self.count not in ("a", "no")

    def words(self) -> str:
        """The noun phrase."""
        singular, plural = GENERAL[self.kind] if self.noun == "" else (self.noun, pluralise(self.noun))
        if self.count == "a":
            return f"{article(singular)} {singular}"
        return f"{self.count} {plural if self.is_plural else singular}"


@dataclass(frozen=True)
class Scene:
    """The content of a caption: a subject, its action, and optionally an object and a phrase."""

    relation: Relation
    verb: str
    subject: Group
    object: Group | None
    tail: str = ""
    passive: bool = False
    denied: bool = False

    def words(self) -> str:
        """The caption, tokenised."""
        conjugated = verb(self.verb)
        tail = "".join(f" {token.word}" for token in tagged(self.tail))
        negation = " not" if self.denied else ""
        if self.object is None or not self.passive:
            preposition = f" {self.relation.preposition}" if self.relation.preposition else ""
            target = f"{preposition} {self.object.words()}" if self.object else ""
            text = (
                f"{self.subject.words()} {_were(self.subject)}{negation} {conjugated.gerund}{target}{tail} ."
            )
        else:
            doer = f"by {self.subject.words()}"
            done = f"being {conjugated.participle} {doer}"
            text = f"{self.object.words()} {_were(self.object)}{negation} {done}{tail} ."
        return text[0].upper() + text[1:]


def _were(group: Group) -> str:
    return "were" if group.is_plural else "was"


Change = Callable[[Scene, Scope, random.Random], Scene | None]


def draw_scene(scope: Scope, randomness: random.Random) -> Scene:
    """A scene of a relation that captions can express; one in eight is negated by "no"."""
    relation = randomness.choice(SCENIC)
    subject = _group(relation.subject, scope, randomness)
    if randomness.random() < 0.125:
        subject = replace(subject, count="no")
    target = _group(relation.object, scope, randomness) if relation.object else None
    tail = scope.choose(randomness, relation.tails) if randomness.random() < 0.5 else ""
    passive = (
        bool(target) and not relation.preposition and subject.count != "no" and randomness.random() < 0.3
    )
    return Scene(relation, scope.choose(randomness, relation.verbs), subject, target, tail, passive)


def _group(kind: str, scope: Scope, randomness: random.Random) -> Group:
    count = "a" if randomness.random() < 0.55 else randomness.choice(COUNTS)
    return Group(kind, scope.choose(randomness, NOUNS[kind]), count)


def _is_scenic(relation: Relation) -> bool:
    target = relation.object
    return relation.subject in GENERAL and (not target or target in GENERAL) and not relation.recipient


SCENIC: tuple[Relation, ...] = tuple(relation for relation in RELATIONS if _is_scenic(relation))


def _other_verb(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    others = [entry for entry in scope.words(scene.relation.verbs) if entry != scene.verb]
    return replace(scene, verb=randomness.choice(others), tail="")


def _other_voice(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    if scene.object is None or scene.relation.preposition or scene.subject.count == "no":
        return None
    return replace(scene, passive=not scene.passive)


def _general_subject(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    if scene.subject.count == "no":
        return None
    return replace(scene, subject=replace(scene.subject, noun=""))


def _narrower_denial(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    return scene if scene.subject.count == "no" and scene.tail == "" else None


def _fewer(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    if scene.subject.count not in COUNTS:
        return None
    return replace(scene, subject=replace(scene.subject, count="some"))


def _without_tail(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    return replace(scene, tail="") if scene.tail and scene.subject.count != "no" else None


def _other_relation(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    if scene.subject.count == "no" or scene.denied:
        return None
    own = scene.relation
    same = [one for one in SCENIC if (one.subject, one.object) == (own.subject, own.object)]
    rivals = [one for one in same if one.name != own.name]
    if not rivals:
        return None
    rival = randomness.choice(rivals)
    return replace(scene, relation=rival, verb=scope.choose(randomness, rival.verbs), tail="", passive=False)


def _denied(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    if scene.subject.count == "no":
        return replace(scene, subject=replace(scene.subject, count="a"))
    if scene.subject.count in COUNTS:
        return replace(scene, subject=replace(scene.subject, count="no"), passive=False)
    return replace(scene, denied=True)


def _other_count(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    if scene.subject.count not in COUNTS:
        return None
    count = randomness.choice([word for word in COUNTS if word != scene.subject.count])
    return replace(scene, subject=replace(scene.subject, count=count))


def _more_detail(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    if scene.tail or scene.subject.count == "no":
        return None
    return replace(scene, tail=scope.choose(randomness, scene.relation.tails))


def _other_matter(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    """Another action that the subject may do at the same time, so that the label must be neutral."""
    own = scene.relation
    others = [one for one in SCENIC if one.subject == own.subject and one.object != own.object]
    if not others or scene.subject.count == "no":
        return None
    other = randomness.choice(others)
    target = _group(other.object, scope, randomness) if other.object else None
    return replace(
        scene,
        relation=other,
        verb=scope.choose(randomness, other.verbs),
        object=target,
        tail="",
        passive=False,
    )


def _other_denial(scene: Scene, scope: Scope, randomness: random.Random) -> Scene | None:
    if scene.subject.count != "no":
        return None
    return replace(
        scene, subject=Group(scene.subject.kind, _different(scene.subject, scope, randomness)), tail=""
    )


def _different(group: Group, scope: Scope, randomness: random.Random) -> str:
    return randomness.choice([noun for noun in scope.words(NOUNS[group.kind]) if noun != group.noun])


CHANGES: dict[str, tuple[Change, ...]] = {
    "entailment": (
        _other_verb,
        _other_verb,
        _other_voice,
        _general_subject,
        _narrower_denial,
        _fewer,
        _without_tail,
    ),
    "contradiction": (_other_relation, _other_relation, _denied, _other_count),
    "neutral": (_more_detail, _other_matter, _other_denial),
}


def draw_pair(label: str, scope: Scope, randomness: random.Random) -> tuple[str, str]:
    """A premise and a hypothesis for the given label."""
    while True:
        premise = draw_scene(scope, randomness)
        change = randomness.choice(CHANGES[label])
        changed = change(premise, scope, randomness)
        if changed is None:
            continue
        if label == "entailment" and randomness.random() < 0.4:
            changed = _other_verb(changed, scope, randomness) or changed
        elif label == "contradiction" and change is not _other_relation and randomness.random() < 0.5:
            changed = replace(_other_verb(changed, scope, randomness) or changed, tail="")
        hypothesis = changed.words()
        if hypothesis != premise.words():
            return premise.words(), hypothesis


_CAST_KINDS = tuple(kind for kind in NAMED_KINDS for _ in range(2))
_TELLING = tuple(one for one in RELATIONS if one.subject in NAMED_KINDS and one.object in (*NAMED_KINDS, ""))


def draw_identity(label: str, scope: Scope, randomness: random.Random) -> tuple[str, str]:
    """An event with named participants, and a claim about the type of one of them.

    Its own type is entailed, a more specific noun of that type is neutral, another type is a contradiction.
    """
    while True:
        event = _named_event(scope, randomness)
        named = [member for member in (event.subject, event.object) if member is not None and member.name]
        told = _tell_by_name(event, scope, randomness)
        by_name = [mention.entity for mention in told.mentions if mention.name]
        mentioned = [member for member in named if member in by_name]
        if mentioned:
            about = randomness.choice(mentioned)
            noun = _claimed_noun(label, about.kind, scope, randomness)
            return " ".join(told.words), f"{' '.join(about.name)} was {article(noun)} {noun} ."


def _named_event(scope: Scope, randomness: random.Random) -> Event:
    cast: list[Entity] = []
    while len(cast) < len(_CAST_KINDS):
        member = new_entity(len(cast), _CAST_KINDS[len(cast)], scope, randomness, named=True)
        if all(set(member.name).isdisjoint(other.name) for other in cast):
            cast.append(member)
    return new_event(tuple(cast), len(cast), scope, randomness, randomness.choice(_TELLING))


def _tell_by_name(event: Event, scope: Scope, randomness: random.Random) -> Sentence:
    """The event, without any description of its names."""
    patterns = patterns_for(event)
    pattern = randomness.choices(patterns, [pattern.weight for pattern in patterns])[0]
    return Teller(event, scope, randomness, frozenset(), frozenset(), by_noun=True).tell(pattern)


def _claimed_noun(label: str, kind: str, scope: Scope, randomness: random.Random) -> str:
    if label == "entailment":
        return kind
    if label == "neutral":  # no noun that a "he" or "she" in the premise could contradict
        return scope.choose(randomness, PEOPLE["either"] if kind == "person" else NOUNS[kind])
    other = randomness.choice([rival for rival in NAMED_KINDS if rival != kind])
    if randomness.random() < 0.5:
        return other
    # a bank may be both a place and an organisation
    return scope.choose(randomness, [noun for noun in NOUNS[other] if noun not in NOUNS[kind]])


def pairs_jsonl(split: str, count: int) -> str:
    """SNLI's lines, tokenised text, labels in turn; half are captions, half are about names."""
    lines = []
    for number in range(count):
        label, randomness = LABELS[number % 3], seeded("pairs", split, number)
        draw = draw_identity if randomness.random() < 0.5 else draw_pair
        premise, hypothesis = draw(label, Scope(split), randomness)
        row = {"gold_label": label, "sentence1": premise, "sentence2": hypothesis}
        lines.append(json.dumps({**row, "sentence1_tokens": premise, "sentence2_tokens": hypothesis}))
    return "\n".join(lines) + "\n"
