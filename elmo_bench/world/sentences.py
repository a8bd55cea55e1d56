"""Sentences with the annotations from which all labelled sets are derived."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from elmo_bench.world.english import lemma
from elmo_bench.world.story import Entity, Event
from elmo_bench.world.tables import PENN_TAGS


@dataclass(frozen=True)
class Token:
    """A word, its lemma, its Penn tag, and its sense: a noun type or a relation."""

    word: str
    lemma: str
    tag: str
    sense: str = ""


@dataclass(frozen=True)
class Mention:
    """Words that refer to an entity; `name` is the span of the proper name."""

    start: int
    end: int  # exclusive
    entity: Entity
    name: tuple[int, int] | None = None


@dataclass(frozen=True)
class Argument:
    """The words of a semantic role."""

    start: int
    end: int
    role: str


@dataclass(frozen=True)
class Proposition:
    """A predicate and its arguments."""

    predicate: int
    lemma: str
    sense: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Sentence:
    """Tokens and all annotations."""

    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...] = ()
    propositions: tuple[Proposition, ...] = ()
    event: Event | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the tokens."""
        return tuple(token.word for token in self.tokens)


def tagged(text: str) -> tuple[Token, ...]:
    """Tokens of a fixed phrase; `word/TAG` overrides the usual tag."""
    return tuple(_token(item) for item in text.split())


@cache
def _token(item: str) -> Token:
    word, _, tag = item.rpartition("/")
    if not word:
        word, tag = item, PENN_TAGS.get(item, "NN")
    return Token(word, lemma(word, tag), tag)
