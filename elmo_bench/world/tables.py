"""The words, relations and sentence patterns of the world, read from words/*.toml.

In these files a string is a list of words and an array is a list of phrases. Content and order decide the
bytes of the generated world: increase WORLD_VERSION after any change.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

Entries = tuple[str, ...]


@dataclass(frozen=True)
class Relation:
    """A relation: the types of its participants, its verbs, and phrases that may follow."""

    name: str
    subject: str
    object: str  # "" for a relation without an object
    preposition: str  # "" for a direct object
    verbs: Entries  # base[/past/participle]; a final + doubles the consonant
    tails: Entries
    roles: Entries = ("ARG0", "ARG1")
    recipient: str = ""  # the type of a third participant
    inchoative: bool = False  # the object may be the subject of the same verb: "the ice melted"
    tail_role: str = "ARGM-MNR"


@dataclass(frozen=True)
class Pattern:
    """A sentence pattern (its slots: see words/patterns.toml) and its weight among the applicable ones."""

    slots: str
    weight: int = 2


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = tomllib.loads((files(__package__) / "words" / name).read_text(encoding="utf-8"))
    return content


def _entries(value: str | list[str]) -> Entries:
    return tuple(value.split() if isinstance(value, str) else value)


def _lists(table: Mapping[str, str | list[str]]) -> dict[str, Entries]:
    return {key: _entries(value) for key, value in table.items()}


def _by_worth(table: Mapping[str, str | list[str]]) -> dict[int, Entries]:
    return {int(worth): _entries(value) for worth, value in table.items()}


def _relation(entry: Mapping[str, Any]) -> Relation:
    subject, _, rest = entry["frame"].partition(">")
    preposition, _, target = rest.strip().rpartition(" ")
    fields: dict[str, Any] = {key: value for key, value in entry.items() if key != "frame"}
    for key in fields.keys() & {"verbs", "tails", "roles"}:
        fields[key] = _entries(fields[key])
    return Relation(subject=subject.strip(), object=target, preposition=preposition, **fields)


def _patterns(*tables: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(slots, weight) for table in tables for slots, weight in _PATTERNS[table].items())


_NAMES, _NOUNS, _MODIFIERS = _read("names.toml"), _read("nouns.toml"), _read("modifiers.toml")
_RELATIONS, _PATTERNS = _read("relations.toml"), _read("patterns.toml")
_OPINIONS, _TAGS = _read("opinions.toml"), _read("tags.toml")

NAME_PARTS = _lists(_NAMES)

PEOPLE = _lists(_NOUNS["people"])
NOUNS = {"person": PEOPLE["female"] + PEOPLE["male"] + PEOPLE["either"], **_lists(_NOUNS["things"])}
BELONGINGS = {
    (kind, owner): words
    for kind, by_owner in _NOUNS["belongings"].items()
    for owner, words in _lists(by_owner).items()
}
IRREGULAR_PLURALS: dict[str, str] = _NOUNS["irregular_plurals"]
OCCASIONS = _entries(_NOUNS["occasions"])

ADJECTIVES = _lists(_MODIFIERS["adjectives"])
TIMES, MANNERS = _entries(_MODIFIERS["times"]), _entries(_MODIFIERS["manners"])

RELATIONS = tuple(_relation(entry) for entry in _RELATIONS["relations"])
ANYBODY = _relation(_RELATIONS["anybody"])

TRANSITIVE = _patterns("any_object", "transitive")
PREPOSITIONAL = _patterns("any_object", "prepositional")
INTRANSITIVE = _patterns("intransitive")
DITRANSITIVE = _patterns("ditransitive")
INCHOATIVE = _patterns("inchoative")
NEUTRAL_ENDINGS = _entries(_PATTERNS["neutral_endings"])
NEUTRAL_OPENINGS = _entries(_PATTERNS["neutral_openings"])
CLAUSES = _lists(_PATTERNS["clauses"])

FOR_STORIES, FOR_COMFORT = 1, -1
ASPECTS = {
    FOR_STORIES: _entries(_OPINIONS["story_aspects"]),
    FOR_COMFORT: _entries(_OPINIONS["comfort_aspects"]),
}
DOUBLE_EDGED = {
    FOR_STORIES: _entries(_OPINIONS["good_for_stories"]),
    FOR_COMFORT: _entries(_OPINIONS["good_for_comfort"]),
}
WORTH = _by_worth(_OPINIONS["worth"])
DEGREES: dict[str, int] = _OPINIONS["degrees"]
REACTIONS = _by_worth(_OPINIONS["reactions"])

PENN_TAGS = {word: tag for tag, words in _TAGS["tags"].items() for word in words.split()}
LEMMAS: dict[str, str] = _TAGS["lemmas"]
