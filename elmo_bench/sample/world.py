"""Writes the whole generated world: plain text for the biLM and small labelled sets for every task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.sample.lexicon import Scope
from elmo_bench.sample.seeds import seeded
from elmo_bench.sample.story import write_story
from elmo_bench.sample.surface import Sentence, tell_story
from elmo_bench.sample.tagging import conll2003, conllu

WORLD_VERSION = 1
"""Raised whenever the same size would give other bytes."""

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class WorldSize:
    """How many stories each part gets; a story has about ten sentences."""

    text: int = 4500
    heldout: int = 60
    pos: tuple[int, int, int] = (30, 20, 50)
    ner: tuple[int, int, int] = (30, 20, 50)


STORY_LENGTH = 10


def write_world(directory: Path, size: WorldSize | None = None) -> None:
    """Write every file of the world below a directory; the bytes depend on WORLD_VERSION and size alone."""
    size = size or WorldSize()
    for name, count in (("train", size.text), ("heldout", size.heldout)):
        _write(directory / "text" / f"{name}.txt", plain_text(name, count))
    for split, pos, ner in zip(SPLITS, size.pos, size.ner, strict=True):
        told = [sentence for story in told_stories("pos", split, pos) for sentence in story]
        _write(directory / "pos" / f"{split}.conllu", conllu(told, f"world-{split}"))
        _write(directory / "ner" / f"{split}.conll", conll2003(told_stories("ner", split, ner)))


def told_stories(part: str, split: str, count: int) -> list[Sequence[Sentence]]:
    """The stories of one split of one part."""
    stories: list[Sequence[Sentence]] = []
    for number in range(count):
        randomness = seeded(part, split, number)
        story = write_story(f"{part}/{split}/{number:04d}", Scope(split), randomness, STORY_LENGTH)
        stories.append(tell_story(story, randomness))
    return stories


def plain_text(part: str, count: int) -> str:
    """One tokenised sentence per line, stories in order."""
    lines = []
    for number in range(count):
        randomness = seeded("text", part, number)
        story = write_story(f"text/{part}/{number}", Scope("text"), randomness, STORY_LENGTH)
        lines += [" ".join(sentence.words) for sentence in tell_story(story, randomness)]
    return "\n".join(lines) + "\n"


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="\n")
