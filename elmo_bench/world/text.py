"""The plain text of the world: everything that its labelled sets are made of, without a label."""

from __future__ import annotations

import random
from collections.abc import Iterator

from elmo_bench.world.chains import write_document
from elmo_bench.world.entailment import draw_scene
from elmo_bench.world.lexicon import Scope
from elmo_bench.world.questions import ask, tell_paragraph
from elmo_bench.world.seeds import seeded
from elmo_bench.world.sentiment import write_review
from elmo_bench.world.story import write_story
from elmo_bench.world.surface import tell_story

STORY_LENGTH = 10
TEXT = Scope("text")


def plain_text(part: str, count: int) -> str:
    """One tokenised sentence per line: `count` stories, each followed by some of everything else."""
    lines = [line for number in range(count) for line in _chapter(part, number)]
    return "\n".join(lines) + "\n"


def _chapter(part: str, number: int) -> Iterator[str]:
    randomness = seeded("text", part, number)
    story = write_story(f"{part}/{number}", TEXT, randomness, STORY_LENGTH)
    for sentence in tell_story(story, randomness):
        yield " ".join(sentence.words)
    for _ in range(2):
        yield " ".join(write_review(TEXT, randomness, reaction=True).words)
    yield draw_scene(TEXT, randomness).words()
    if number % 4 == 0:
        for sentence in write_document(f"text/{part}", number, 4).sentences:
            yield " ".join(sentence.words)
    if number % 4 == 2:
        yield from _dialogue(randomness)


def _dialogue(randomness: random.Random) -> Iterator[str]:
    for sentence in tell_paragraph(TEXT, randomness, 3):
        yield " ".join(sentence.words)
        question = ask(sentence, randomness.random() < 0.5, TEXT, randomness)
        yield question.removesuffix("?") + " ?"
