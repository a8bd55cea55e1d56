"""Questions on paragraphs; the verb of a question differs from the verb of the paragraph."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from elmo_bench.world.lexicon import Scope, seeded, verb
from elmo_bench.world.sentences import Sentence
from elmo_bench.world.story import Entity, Event, new_entity, new_event
from elmo_bench.world.surface import Teller
from elmo_bench.world.tables import RELATIONS, Pattern

_TOLD = ("S V:VBD O T .", "S V:VBD O .", "S V:VBD O W .", "W , S V:VBD O .")
_TOLD_PASSIVE = ("N BE:N V:VBN BY .", "N BE:N V:VBN BY T .")
_ASKED: dict[str, str] = {
    "person": "Who",
    "organisation": "Which organisation",
    "place": "Which place",
    "work": "Which work",
}
_ASKED_OBJECT: dict[str, str] = {**_ASKED, "person": "Whom"}


@dataclass(frozen=True)
class Question:
    """A question, its answer and where the answer starts in the paragraph."""

    text: str
    answer: str
    start: int


@dataclass(frozen=True)
class Paragraph:
    """Running text and the questions about it."""

    context: str
    questions: tuple[Question, ...]


def write_paragraph(split: str, number: int, length: int) -> Paragraph:
    """Some events among named people, places and organisations; each can have a question."""
    randomness = seeded("questions", split, number)
    scope = Scope(split)
    told = tell_paragraph(scope, randomness, length)
    context, offsets = running_text(told)
    questions = []
    for sentence, starts in zip(told, offsets, strict=True):
        about_subject = randomness.random() < 0.5
        question = ask(sentence, about_subject, scope, randomness)
        first, last = _place_of_name(sentence, about_subject)
        start = starts[first]
        end = starts[last - 1] + len(sentence.tokens[last - 1].word)
        questions.append(Question(question, context[start:end], start))
    return Paragraph(context, tuple(questions))


def tell_paragraph(scope: Scope, randomness: random.Random, length: int) -> tuple[Sentence, ...]:
    """Events with different relations, so that the relation of a question identifies one event."""
    kinds = ("person", "person", "person", "organisation", "organisation", "place", "place", "work")
    cast: list[Entity] = []
    for kind in kinds:
        member = new_entity(len(cast), kind, scope, randomness, named=True)
        if not any(set(member.name) & set(other.name) for other in cast):
            cast.append(member)
    possible = [one for one in RELATIONS if one.subject in _ASKED and one.object in _ASKED]
    told: list[Sentence] = []
    for relation in randomness.sample(possible, len(possible)):
        members = {kind: [member for member in cast if member.kind == kind] for kind in _ASKED}
        if len(told) == length or not members[relation.subject] or not members[relation.object]:
            continue
        event = new_event(tuple(cast), 20, scope, randomness, relation)
        subject = randomness.choice(members[relation.subject])
        others = [member for member in members[relation.object] if member.id != subject.id]
        if others:
            event = Event(relation, event.verb, subject, randomness.choice(others), None, event.tail)
            patterns = _TOLD if relation.preposition else _TOLD + _TOLD_PASSIVE
            teller = Teller(event, scope, randomness, frozenset(), frozenset())
            told.append(teller.tell(Pattern(randomness.choice(patterns))))
    return tuple(told)


def ask(sentence: Sentence, about_subject: bool, scope: Scope, randomness: random.Random) -> str:
    """A question about one participant, with another verb, and with or without the other participant."""
    event = sentence.event
    assert event is not None and event.object is not None
    others = [entry for entry in scope.words(event.relation.verbs) if entry != event.verb]
    asked = verb(randomness.choice(others))
    preposition = f" {event.relation.preposition}" if event.relation.preposition else ""
    if about_subject:
        other = " ".join(event.object.name) if randomness.random() < 0.5 else _SOMETHING[event.object.kind]
        return f"{_ASKED[event.subject.kind]} {asked.past}{preposition} {other}?"
    other = " ".join(event.subject.name) if randomness.random() < 0.5 else _SOMETHING[event.subject.kind]
    return f"{_ASKED_OBJECT[event.object.kind]} did {other} {asked.base}{preposition}?"


_SOMETHING: dict[str, str] = {
    "person": "somebody",
    "organisation": "an organisation",
    "place": "a place",
    "work": "a work",
}


def running_text(sentences: Sequence[Sentence]) -> tuple[str, list[list[int]]]:
    """Text without tokenisation, and the offset of each token of each sentence."""
    text = ""
    offsets: list[list[int]] = []
    for sentence in sentences:
        starts = []
        for token in sentence.tokens:
            if text and token.word not in (",", ".", "?", "'s"):
                text += " "
            starts.append(len(text))
            text += token.word
        offsets.append(starts)
    return text, offsets


def _place_of_name(sentence: Sentence, about_subject: bool) -> tuple[int, int]:
    event = sentence.event
    assert event is not None
    wanted = event.subject if about_subject else event.object
    return next(mention.name for mention in sentence.mentions if mention.entity == wanted and mention.name)


def squad_json(split: str, count: int, length: int = 6, per_article: int = 5) -> str:
    """SQuAD v1.1: articles of a few paragraphs."""
    articles = []
    for first in range(0, count, per_article):
        paragraphs = []
        for number in range(first, min(first + per_article, count)):
            paragraph = write_paragraph(split, number, length)
            entries = [
                {
                    "answers": [{"answer_start": question.start, "text": question.answer}],
                    "question": question.text,
                    "id": f"world-{split}-{number:04d}-{index}",
                }
                for index, question in enumerate(paragraph.questions)
            ]
            paragraphs.append({"context": paragraph.context, "qas": entries})
        articles.append({"title": f"World_{split}_{first // per_article:03d}", "paragraphs": paragraphs})
    return json.dumps({"data": articles, "version": "1.1"}) + "\n"
