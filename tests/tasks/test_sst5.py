"""The sentiment plug-in on a handful of trees."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from elmo_bench.cli.score import sst5_figures
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.tasks.sst5 import Sst5Example
from elmo_bench.types import DataError, SplitFiles, UsageError
from tests.support.composition import make_task

LONG = r"(4 (2 (2 The) (2 (2 film) (2 \/))) (3 (3 (2 is) (4 great)) (2 -RRB-)))"
SHORT = "(1 (2 So) (0 bad))"


def files(directory: Path, split: str, text: str = f"{LONG}\n{SHORT}\n") -> SplitFiles:
    path = directory / f"{split}.txt"
    path.write_text(text, encoding="utf-8")
    return SplitFiles(split, "trees", (path,))


def test_training_reads_every_phrase_that_is_long_enough(tmp_path: Path) -> None:
    train = files(tmp_path, "train")
    assert list(make_task("sst5").read(train)) == [
        Sst5Example("train-1-1", ("The", "film", "/", "is", "great", ")"), 4)
    ]
    assert list(make_task("sst5", shortest_phrase=3).read(train)) == [
        Sst5Example("train-1-1", ("The", "film", "/", "is", "great", ")"), 4),
        Sst5Example("train-1-2", ("The", "film", "/"), 2),
        Sst5Example("train-1-7", ("is", "great", ")"), 3),
    ]
    assert len(list(make_task("sst5", shortest_phrase=1).read(train))) == 11 + 3  # every node of both trees


@pytest.mark.parametrize("split", ["dev", "test"])
def test_other_splits_are_whole_sentences_however_short(split: str, tmp_path: Path) -> None:
    found = list(make_task("sst5").read(files(tmp_path, split)))
    assert [(example.id, example.label) for example in found] == [(f"{split}-1-1", 4), (f"{split}-2-1", 1)]
    assert found[1].words == ("So", "bad")


def test_training_on_sentences_leaves_phrases_out(tmp_path: Path) -> None:
    found = make_task("sst5", training="sentences").read(files(tmp_path, "train"))
    assert [example.id for example in found] == ["train-1-1", "train-2-1"]


def test_several_files_are_one_corpus(tmp_path: Path) -> None:
    first, second = files(tmp_path, "dev"), files(tmp_path, "test", SHORT)
    both = make_task("sst5").read(SplitFiles("dev", "trees", (*first.paths, *second.paths)))
    assert [example.id for example in both] == ["dev-1-1", "dev-2-1", "dev-3-1"]


def test_what_cannot_be_trained_on_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train.txt:1: expected a phrase of 4 tokens .*shortest_phrase"):
        list(make_task("sst5").read(files(tmp_path, "train", SHORT)))
    with pytest.raises(DataError, match=r"dev.txt:1: expected a label from 0 to 4"):
        list(make_task("sst5").read(files(tmp_path, "dev", "(5 bad)")))
    with pytest.raises(UsageError, match="task sst5 reads trees"):
        list(make_task("sst5").read(SplitFiles("dev", "columns", (tmp_path / "dev.txt",))))


def test_fields_are_words_and_a_label(tmp_path: Path) -> None:
    task = make_task("sst5")
    (example,) = task.read(files(tmp_path, "train"))
    table = WordTable(("film", "great"), torch.zeros(4, 2), trainable=True)
    fields = task.index(example, Vocabularies(table, task.vocabularies([example])))
    assert fields["words"].tolist() == [1, 2, 1, 1, 3, 1]
    assert fields["label"].shape == () and fields["label"].item() == 4
    assert task.sentences(example) == {"text": (example.words,)}


def test_gold_is_perfect_and_a_neighbouring_grade_is_wrong(tmp_path: Path) -> None:
    task = make_task("sst5")
    examples = list(task.read(files(tmp_path, "dev")))
    perfect = [task.count(example, task.gold(example)) for example in examples]
    assert task.score(perfect)[task.metric] == 100.0
    assert task.score([task.count(example, 1) for example in examples]) == {"accuracy": 50.0}


def test_rendered_predictions_are_what_the_scorer_reads(tmp_path: Path) -> None:
    task, dev = make_task("sst5"), files(tmp_path, "dev")
    examples = list(task.read(dev))
    predicted = tmp_path / "predicted.txt"
    predicted.write_text(task.render(examples, [4, 0]), encoding="utf-8")
    right, wrong = (
        {"accuracy": 100.0, "correct": 1, "answers": 1},
        {"accuracy": 0.0, "correct": 0, "answers": 1},
    )
    assert sst5_figures(dev.paths[0], predicted) == {
        "accuracy": 50.0, "correct": 1, "answers": 2, "labels": {"1": wrong, "4": right}
    }  # fmt: skip
    predicted.write_text("4\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"predicted.txt: expected 2 labels, one per tree of .*dev.txt, got 1"
    ):
        sst5_figures(dev.paths[0], predicted)
    predicted.write_text("4\n5\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"predicted.txt:2: expected a label from 0 to 4, got '5'"):
        sst5_figures(dev.paths[0], predicted)
