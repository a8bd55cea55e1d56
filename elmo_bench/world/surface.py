"""From an event to a sentence: choose a pattern and fill its slots."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from elmo_bench.world.english import article, pluralise
from elmo_bench.world.lexicon import Scope, verb
from elmo_bench.world.sentences import Argument, Mention, Proposition, Sentence, Token, tagged
from elmo_bench.world.story import Entity, Event, Story, new_entity
from elmo_bench.world.tables import (
    ADJECTIVES,
    CLAUSES,
    DITRANSITIVE,
    INCHOATIVE,
    INTRANSITIVE,
    MANNERS,
    NEUTRAL_ENDINGS,
    NEUTRAL_OPENINGS,
    OCCASIONS,
    PREPOSITIONAL,
    TIMES,
    TRANSITIVE,
    Pattern,
)  # fmt: skip


def patterns_for(event: Event, *, inchoative: bool = False) -> tuple[Pattern, ...]:
    """The patterns that can express an event."""
    if event.recipient is not None:
        return DITRANSITIVE
    if event.object is None:
        return INTRANSITIVE
    if inchoative and event.relation.inchoative:
        return INCHOATIVE
    return PREPOSITIONAL if event.relation.preposition else TRANSITIVE


def tell(
    event: Event,
    scope: Scope,
    randomness: random.Random,
    known: frozenset[int] = frozenset(),
    pronouns: frozenset[int] = frozenset(),
) -> Sentence:
    """A sentence about an event; `known` entities were mentioned before, `pronouns` may become pronouns."""
    patterns = patterns_for(event, inchoative=randomness.random() < 0.5)
    pattern = randomness.choices(patterns, [pattern.weight for pattern in patterns])[0]
    return Teller(event, scope, randomness, known, pronouns).tell(pattern)


def tell_story(story: Story, randomness: random.Random, pronoun_rate: float = 0.25) -> tuple[Sentence, ...]:
    """The sentences of a story; an entity of the previous sentence may become a pronoun."""
    known: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    sentences = []
    for event in story.events:
        pronouns = frozenset(identifier for identifier in sorted(last) if randomness.random() < pronoun_rate)
        sentence = tell(event, story.scope, randomness, known, pronouns)
        sentences.append(sentence)
        last = frozenset(mention.entity.id for mention in sentence.mentions if _may_return(mention.entity))
        known = known | last
    return tuple(sentences)


def _may_return(entity: Entity) -> bool:
    return entity.owner is None and entity.id >= 0


PRONOUNS: dict[str, dict[str, str]] = {
    "subject": {"f": "she", "m": "he", "n": "it", "p": "they"},
    "object": {"f": "her", "m": "him", "n": "it", "p": "them"},
    "possessive": {"f": "her", "m": "his", "n": "its", "p": "their"},
}


@dataclass
class Teller:
    """Builds one sentence, slot by slot."""

    event: Event
    scope: Scope
    randomness: random.Random
    known: frozenset[int]
    pronouns: frozenset[int]
    by_noun: bool = False  # a known entity is "the widow" although it has a name
    tokens: list[Token] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    predicate: int = -1

    def tell(self, pattern: Pattern) -> Sentence:
        """The sentence that a pattern makes of the event."""
        for slot in pattern.slots.split():
            if slot in (".", ",") and self.tokens and self.tokens[-1].word == ",":
                self.tokens.pop()  # an inserted phrase ends with its clause
            self._fill(slot)
        first = self.tokens[0]
        capital = first.word[:1].upper() + first.word[1:]
        self.tokens[0] = Token(capital, first.lemma, first.tag, first.sense)
        arguments = sorted(self.arguments, key=lambda argument: argument.start)
        proposition = Proposition(
            self.predicate, verb(self.event.verb).base, self.event.relation.name, tuple(arguments)
        )
        mentions = sorted(self.mentions, key=lambda mention: (mention.start, -mention.end))
        return Sentence(tuple(self.tokens), tuple(mentions), (proposition,), self.event)

    def introduce(self, entity: Entity) -> Sentence:
        """A sentence that only states what a name refers to."""
        self._name(entity)
        self.tokens += tagged(self.randomness.choice(("was", "remained/VBD", "became")))
        self._described(entity, definite=False)
        self.tokens += tagged(".")
        return Sentence(tuple(self.tokens), tuple(self.mentions))

    def _fill(self, slot: str) -> None:
        name, _, detail = slot.partition(":")
        if not slot[0].isupper():
            self.tokens += tagged(slot)
        elif name in ("V", "PRES"):
            self._verb(detail if name == "V" else "VBP" if _is_plural(self._who(detail)) else "VBZ")
        elif name in _AUXILIARIES:
            singular, plural = _AUXILIARIES[name]
            self.tokens += tagged(plural if _is_plural(self._who(detail)) else singular)
        elif name in ("WHO", "WHOM"):
            self._relative(self._who(detail), detail, name)
        elif name in _PHRASES:
            phrases, role = _PHRASES[name]
            self._phrase(
                self.event.tail if name == "T" else self.scope.choose(self.randomness, phrases), role
            )
        elif name == "OWN":
            self._own_way()
        elif name == "P":
            self.tokens += tagged(self.event.relation.preposition + "/IN")
        else:
            self._participant(name)

    def _phrase(self, text: str, role: str) -> None:
        start = len(self.tokens)
        self.tokens += tagged(text)
        if role:
            self.arguments.append(
                Argument(start, len(self.tokens), role if role != "T" else self.event.relation.tail_role)
            )

    def _participant(self, slot: str) -> None:
        start = len(self.tokens)
        entity = self._who(slot)
        if slot == "BY":
            self.tokens += tagged("by")
        elif slot == "O" and self.event.relation.preposition:
            tag = "TO" if self.event.relation.preposition == "to" else "IN"
            self.tokens += tagged(f"{self.event.relation.preposition}/{tag}")
        case = "subject" if slot in ("S", "X", "SELF") or (slot in "NR" and self.predicate < 0) else "object"
        if slot == "SELF":
            self._pronoun(entity, case)
        else:
            self._noun_phrase(entity, case)
        if slot == "X":
            return
        role = self._role(slot)
        if slot in ("N2", "N3"):  # the second half of a co-ordination extends the first half's argument
            earlier = next(index for index, found in enumerate(self.arguments) if found.role == role)
            start = self.arguments.pop(earlier).start
        elif slot == "R" and self.tokens[start - 1].word == "to" and start:
            start -= 1
        self.arguments.append(Argument(start, len(self.tokens), role))

    def _role(self, slot: str) -> str:
        roles = self.event.relation.roles
        return {"S": roles[0], "SELF": roles[0], "BY": roles[0], "N2": roles[0], "R": roles[-1]}.get(
            slot, roles[min(1, len(roles) - 1)]
        )

    def _who(self, slot: str) -> Entity:
        event = self.event
        subject_like = slot in ("S", "BY", "N2", "X", "SELF")
        entity = event.recipient if slot == "R" else event.subject if subject_like else event.object
        assert entity is not None
        if slot in ("N2", "N3"):
            return self._companion(entity)
        return entity

    def _companion(self, entity: Entity) -> Entity:
        return new_entity(-1, entity.kind, self.scope, self.randomness, named=bool(entity.name))

    def _verb(self, tag: str) -> None:
        self.predicate = len(self.tokens)
        conjugated = verb(self.event.verb)
        self.tokens.append(Token(conjugated.form(tag), conjugated.base, tag, self.event.relation.name))

    def _relative(self, entity: Entity, slot: str, form: str) -> None:
        person = "who" if form == "WHO" else "whom"
        start = len(self.tokens)
        self.tokens += tagged(person if entity.kind == "person" else "which")
        self.arguments.append(Argument(start, start + 1, "R-" + self._role(slot)))

    def _noun_phrase(self, entity: Entity, case: str) -> None:
        if entity.id in self.pronouns and not _is_plural(entity):
            self._pronoun(entity, case)
        elif entity.name and self.by_noun and entity.id in self.known:
            self._common(entity)
        elif entity.name:
            self._named(entity)
        elif entity.owner is not None:
            self._belonging(entity, entity.owner)
        else:
            self._common(entity)

    def _pronoun(self, entity: Entity, case: str) -> None:
        word = PRONOUNS[case]["p" if _is_plural(entity) else entity.gender]
        position = len(self.tokens)
        self.tokens.append(Token(word, word, "PRP$" if case == "possessive" else "PRP"))
        self.mentions.append(Mention(position, position + 1, entity))

    def _own_way(self) -> None:
        start = len(self.tokens)
        self.tokens += tagged("in")
        self._pronoun(self.event.subject, "possessive")
        self.tokens += tagged("own way")
        self.arguments.append(Argument(start, len(self.tokens), "ARGM-MNR"))

    def _name(self, entity: Entity) -> None:
        start = len(self.tokens)
        self.tokens += [Token(word, word, "NNP") for word in entity.name]
        end = len(self.tokens)
        self.mentions.append(Mention(start, end, entity, (start, end)))

    def _named(self, entity: Entity) -> None:
        """A name, sometimes with a description before or after it."""
        rate = 0.0 if self.by_noun else self.scope.description_rate
        draw = self.randomness.random()
        if draw < 0.4 * rate:
            self._described(entity, definite=True)
            self.tokens += tagged("of") if entity.kind == "place" else ()
        self._name(entity)
        if 0.4 * rate <= draw < rate:
            self._expand(entity)

    def _expand(self, entity: Entity) -> None:
        self.tokens += tagged(",")
        if self.randomness.random() < 0.5:
            self._described(entity, definite=False)
        else:
            self.tokens += tagged(self.scope.choose(self.randomness, CLAUSES[entity.kind]))
        self.tokens += tagged(",")

    def _common(self, entity: Entity) -> None:
        start = len(self.tokens)
        self._described(entity, definite=entity.id in self.known or self.randomness.random() < 0.5)
        self.mentions.append(Mention(start, len(self.tokens), entity))

    def _described(self, entity: Entity, *, definite: bool) -> None:
        adjectives = []
        if self.randomness.random() < 0.2:
            word = self.scope.choose(self.randomness, ADJECTIVES[entity.kind])
            adjectives.append(Token(word, word, "JJ"))
        noun = Token(entity.noun, entity.noun, "NN", entity.kind) if entity.name else _noun_token(entity)
        if definite:
            self.tokens += tagged("the")
        elif not _is_plural(entity):
            self.tokens += tagged(article((adjectives[0] if adjectives else noun).word))
        self.tokens += [*adjectives, noun]

    def _belonging(self, entity: Entity, owner: Entity) -> None:
        start = len(self.tokens)
        if self.randomness.random() < 0.5:
            self._name(owner)
            self.tokens += tagged("'s")
            self.tokens.append(_noun_token(entity))
        else:
            self.tokens += tagged("the")
            self.tokens.append(_noun_token(entity))
            self.tokens += tagged("of")
            self._name(owner)
        self.mentions.append(Mention(start, len(self.tokens), entity))


_AUXILIARIES: dict[str, tuple[str, str]] = {
    "BE": ("was", "were"),
    "HAVE": ("has", "have"),
    "DO": ("did", "did"),
}


def _occasions() -> tuple[str, ...]:
    before = ("after", "before", "during")
    return tuple(f"{before[index % 3]} the {noun}" for index, noun in enumerate(OCCASIONS))


_PHRASES: dict[str, tuple[tuple[str, ...], str]] = {
    "T": ((), "T"),
    "W": (TIMES + _occasions(), "ARGM-TMP"),
    "M": (tuple(manner + "/RB" for manner in MANNERS), "ARGM-MNR"),
    "Z": (NEUTRAL_ENDINGS, ""),
    "Z2": (NEUTRAL_OPENINGS, ""),
}


def _is_plural(entity: Entity) -> bool:
    if entity.name:
        return False
    return (
        entity.plural or entity.noun == "trousers" or (entity.owner is not None and _ends_plural(entity.noun))
    )


def _ends_plural(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith(("ss", "us", "headquarters"))


def _noun_token(entity: Entity) -> Token:
    if entity.plural and entity.owner is None:
        return Token(pluralise(entity.noun), entity.noun, "NNS", entity.kind)
    tag = "NNS" if _is_plural(entity) else "NN"
    sense = "" if entity.owner is not None else entity.kind
    return Token(entity.noun, entity.noun, tag, sense)
