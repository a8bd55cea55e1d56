"""SQuAD v1.1: questions on paragraphs, with answers at character offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.data.json_values import JsonValue, read_json
from elmo_bench.data.lines import require_any, shown


@dataclass(frozen=True)
class Answer:
    """One annotator's answer; `context[start : start + len(text)]` is its text."""

    start: int
    text: str


@dataclass(frozen=True)
class SquadQuestion:
    """One question with its paragraph."""

    id: str
    article: str
    context: str
    question: str
    answers: tuple[Answer, ...]


def read_squad(path: Path) -> Iterator[SquadQuestion]:
    """All questions in file order; ids are unique, and every answer is checked against its offset."""
    return require_any(path, _read_questions(path), "question")


def _read_questions(path: Path) -> Iterator[SquadQuestion]:
    seen: set[str] = set()
    for article in read_json(path)["data"].items():
        title = article["title"].text()
        for paragraph in article["paragraphs"].items():
            context = paragraph["context"].text()
            for place in paragraph["qas"].items():
                question = _question(place, title, context)
                if question.id in seen:
                    raise place["id"].error("a new question id", repr(question.id))
                seen.add(question.id)
                yield question


def _question(place: JsonValue, article: str, context: str) -> SquadQuestion:
    answers = tuple(_answer(answer, context) for answer in place["answers"].items())
    if not answers:
        raise place["answers"].error("at least one answer", "none", "is this SQuAD v2?")
    return SquadQuestion(place["id"].text(), article, context, place["question"].text(), answers)


def _answer(answer: JsonValue, context: str) -> Answer:
    start, text = answer["answer_start"].number(), answer["text"].text()
    if not text.strip():
        raise answer["text"].error("an answer", shown(text))
    found = context[start : start + len(text)] if start >= 0 else ""
    if found != text:
        raise answer["answer_start"].error(
            f"{shown(text)} in the context from character {start}", shown(found), "offsets count characters"
        )
    return Answer(start, text)


def read_answers(path: Path) -> dict[str, str]:
    """Predictions: one JSON object from question ids to texts."""
    document = read_json(path)
    if not isinstance(document.value, dict):
        raise document.error("an object from question ids to answers", f"a {type(document.value).__name__}")
    return {name: document[name].text() for name in document.value}
