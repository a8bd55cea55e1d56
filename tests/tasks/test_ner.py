"""The NER plug-in on a handful of sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.tensors import Widths
from elmo_bench.types import SplitFiles, UsageError
from tests.support.composition import make_task

COLUMNS = r"""-DOCSTART- -X- O O

Ann NNP I-NP I-PER
Lee NNP I-NP I-PER
met\/saw VBD I-VP O
Bo NNP I-NP I-PER

Oslo NNP I-NP I-LOC
. . O O
"""


@pytest.fixture
def files(tmp_path: Path) -> SplitFiles:
    path = tmp_path / "train.conll"
    path.write_text(COLUMNS, encoding="utf-8")
    return SplitFiles("train", "columns", (path,))


def test_another_format_is_refused(files: SplitFiles) -> None:
    with pytest.raises(UsageError, match="format=conllu: task ner reads columns"):
        list(make_task("ner").read(SplitFiles("train", "conllu", files.paths)))


def test_examples_are_sentences_in_iob2(files: SplitFiles) -> None:
    first, second = make_task("ner").read(files)
    assert (first.id, second.id) == ("train-1", "train-2")
    assert first.words == ("Ann", "Lee", "met/saw", "Bo")
    assert first.tags == ("B-PER", "I-PER", "O", "B-PER")
    assert make_task("ner").sentences(second) == {"text": (("Oslo", "."),)}


def test_fields_are_numbers_of_words_characters_and_bioul_tags(files: SplitFiles) -> None:
    task = make_task("ner")
    examples = list(task.read(files))
    table = WordTable(("met/saw", "oslo"), torch.zeros(4, 3), trainable=True)
    vocabularies = Vocabularies(table, task.vocabularies(examples))
    tags, characters = vocabularies["tags"], vocabularies["characters"]
    assert set(tags.items) == {"O", *(f"{prefix}-{kind}" for prefix in "BILU" for kind in ("PER", "LOC"))}
    fields = task.index(examples[0], vocabularies)
    assert fields["words"].tolist() == [1, 1, 2, 1]
    assert [tags.items[tag] for tag in fields["tags"].tolist()] == ["B-PER", "L-PER", "O", "U-PER"]
    spelt = [
        "".join(characters.items[number] for number in row if number) for row in fields["characters"].tolist()
    ]
    assert spelt == list(examples[0].words)
    assert task.index(examples[1], vocabularies)["words"].tolist() == [3, 1]


def test_a_type_unseen_in_training_can_still_be_indexed_and_counted(files: SplitFiles) -> None:
    task = make_task("ner")
    person, place = task.read(files)
    vocabularies = Vocabularies(WordTable((), torch.zeros(2, 0), False), task.vocabularies([person]))
    tags = vocabularies["tags"]
    assert [tags.items[tag] for tag in task.index(place, vocabularies)["tags"].tolist()] == ["O", "O"]
    assert task.count(place, ["O", "O"])["gold"] == 1


def test_gold_is_perfect_and_a_missed_chunk_is_not(files: SplitFiles) -> None:
    task = make_task("ner")
    first, second = task.read(files)
    perfect = [task.count(first, task.gold(first)), task.count(second, task.gold(second))]
    assert task.score(perfect)[task.metric] == 100.0
    half = [task.count(first, ["B-PER", "I-PER", "O", "O"]), task.count(second, ["B-PER", "O"])]
    assert task.score(half)["recall"] == pytest.approx(100 / 3)
    assert task.score(half)["precision"] == 50.0


def test_the_head_has_the_settings_of_the_task(files: SplitFiles) -> None:
    task = make_task("ner", head={"lower_hidden": 7, "upper_hidden": 3})
    examples = list(task.read(files))
    vocabularies = Vocabularies(WordTable((), torch.zeros(2, 0), False), task.vocabularies(examples))
    head = task.build_head(vocabularies, Widths(4, 2))
    assert (head.lower.inputs, head.lower.dim, head.upper.dim, head.emit.in_features) == (132, 14, 6, 8)
    with pytest.raises(UsageError, match="lower_hiden"):
        make_task("ner", head={"lower_hiden": 7})
