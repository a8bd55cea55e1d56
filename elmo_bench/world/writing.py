"""Write the generated world: plain text for the biLM and small labelled sets for every task."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.world.coreference import conll2012_chains, write_document
from elmo_bench.world.entailment import draw_scene, pairs_jsonl
from elmo_bench.world.lexicon import Scope, seeded
from elmo_bench.world.questions import ask, squad_json, tell_paragraph
from elmo_bench.world.senses import inventory, sense_sentences, unified_xml
from elmo_bench.world.sentences import Sentence
from elmo_bench.world.sentiment import write_review
from elmo_bench.world.story import write_story
from elmo_bench.world.surface import tell_story
from elmo_bench.world.tagging import conll2003, conll2012_roles, conllu

WORLD_VERSION = 5
"""Increase it when the bytes of the same size change."""

SPLITS = ("train", "dev", "test")
Counts = tuple[int, int, int]  # train, dev, test
STORY_LENGTH = 10
TEXT = Scope("text")


@dataclass(frozen=True)
class WorldSize:
    """The sizes of all sets; stories have ten sentences, coreference documents about ten."""

    text: int = 2600  # stories, each followed by reviews, captions and the like
    heldout: int = 60
    pos: Counts = (30, 20, 50)  # stories
    ner: Counts = (40, 20, 50)  # stories
    srl: Counts = (30, 20, 50)  # stories
    wsd: Counts = (4, 1, 3)  # sentences for a reading, times two or three
    sst5: Counts = (200, 200, 600)  # sentences
    snli: Counts = (600, 300, 600)  # pairs
    coref: Counts = (60, 30, 60)  # documents
    squad: Counts = (100, 40, 80)  # paragraphs of six sentences


def write_world(directory: Path, size: WorldSize | None = None) -> None:
    """Write every file of the world below a directory; the bytes depend only on WORLD_VERSION and size."""
    for path, content in world_files(size or WorldSize()).items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8", newline="\n")


def world_files(size: WorldSize) -> dict[str, str]:
    """Path below the world's directory -> content."""
    files = {"text/train.txt": plain_text("train", size.text)}
    files["text/heldout.txt"] = plain_text("heldout", size.heldout)
    files["wsd/senses.tsv"] = inventory()
    for index, split in enumerate(SPLITS):
        pos_stories = told_stories("pos", split, size.pos[index])
        sentences = [sentence for story in pos_stories for sentence in story]
        files[f"pos/{split}.conllu"] = conllu(sentences, f"world-{split}")
        files[f"ner/{split}.conll"] = conll2003(told_stories("ner", split, size.ner[index], about_names=True))
        roles = told_stories("srl", split, size.srl[index])
        named = [(f"world/{split}/{number:04d}", story) for number, story in enumerate(roles)]
        files[f"srl/{split}.gold_conll"] = conll2012_roles(named)
        data, keys = unified_xml(sense_sentences(split, size.wsd[index]), f"world-{split}")
        files[f"wsd/{split}/{split}.data.xml"], files[f"wsd/{split}/{split}.gold.key.txt"] = data, keys
        files[f"sst5/{split}.txt"] = review_trees(split, size.sst5[index])
        files[f"snli/{split}.jsonl"] = pairs_jsonl(split, size.snli[index])
        documents = [write_document(split, number, 7) for number in range(size.coref[index])]
        files[f"coref/{split}.conll"] = conll2012_chains(documents)
        files[f"squad/{split}.json"] = squad_json(split, size.squad[index])
    return files


def told_stories(part: str, split: str, count: int, *, about_names: bool = False) -> list[Sequence[Sentence]]:
    """The stories of one split of one set."""
    stories: list[Sequence[Sentence]] = []
    for number in range(count):
        name, randomness = f"{part}/{split}/{number:04d}", seeded(part, split, number)
        story = write_story(name, Scope(split), randomness, STORY_LENGTH, about_names=about_names)
        stories.append(tell_story(story, randomness))
    return stories


def review_trees(split: str, count: int) -> str:
    """One tree per line."""
    trees = (write_review(Scope(split), seeded("reviews", split, number)) for number in range(count))
    return "".join(f"{tree}\n" for tree in trees)


def plain_text(part: str, count: int) -> str:
    """One tokenised sentence per line: `count` stories, each followed by reviews, captions and so on."""
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
