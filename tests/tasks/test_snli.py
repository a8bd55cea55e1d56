"""The SNLI plug-in on a handful of pairs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.encoders.injection import Injection
from elmo_bench.runs.inputs import gather
from elmo_bench.runs.preparation import prepare
from elmo_bench.runs.selection import read_corpus
from elmo_bench.tensors import Stream
from elmo_bench.types import SplitFiles, UsageError
from tests.support.composition import make_task, run_config

ROWS = [
    ("entailment", "A man isn't asleep, is he?", "Somebody's awake."),
    ("-", "A dog runs.", "A cat runs."),
    ("neutral", "A dog runs.", "The dog is 3-years-old."),
    ("contradiction", "A dog runs.", " "),
    ("contradiction", "A dog runs.", "A dog sleeps."),
]


def write(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    keys = ("gold_label", "sentence1", "sentence2")
    path.write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows))
    return path


@pytest.fixture
def files(tmp_path: Path) -> SplitFiles:
    return SplitFiles("train", "snli", (write(tmp_path / "train.jsonl", ROWS),))


def test_pairs_without_a_label_or_a_word_are_left_out_and_counted(files: SplitFiles) -> None:
    left_out: Counter[str] = Counter()
    counting = replace(
        files, paths=files.paths * 2, leave_out=lambda what, count: left_out.update({what: count})
    )
    examples = list(make_task("snli").read(counting))
    assert [example.label for example in examples] == ["entailment", "neutral", "contradiction"] * 2
    assert [example.id for example in examples[2:4]] == ["train-1-5", "train-2-1"]
    assert left_out == {"pairs without a label": 2, "pairs with an empty sentence": 2}


def test_what_is_left_out_reaches_the_user(tmp_path: Path) -> None:
    whole, part = write(tmp_path / "whole.jsonl", ROWS), write(tmp_path / "part.jsonl", ROWS[:1])
    config = run_config(
        "task=snli", "data=files", f"data.train={whole}", f"data.dev={part}", f"data.test={part}",
        "elmo=none", "words=random", root=tmp_path,
    )  # fmt: skip
    said: list[str] = []
    prepared = prepare(config, said.append)
    material = gather(config, prepared, said.append)
    counts = {"train": {"pairs without a label": 1, "pairs with an empty sentence": 1}}
    assert material.left_out == counts == read_corpus(prepared.task, prepared.corpus).left_out
    assert "left out of train: 1 pairs without a label, 1 pairs with an empty sentence" in said


def test_raw_and_tokenised_text_give_the_same_words(files: SplitFiles, tmp_path: Path) -> None:
    raw = list(make_task("snli").read(files))
    assert raw[0].premise == ("A", "man", "is", "n't", "asleep", ",", "is", "he", "?")
    tokenised = [(example.label, " ".join(example.premise), " ".join(example.hypothesis)) for example in raw]
    again = SplitFiles("train", "snli", (write(tmp_path / "tokenised.jsonl", tokenised),))
    assert [(row.premise, row.hypothesis) for row in make_task("snli").read(again)] == [
        (row.premise, row.hypothesis) for row in raw
    ]


def test_other_formats_are_refused(files: SplitFiles) -> None:
    with pytest.raises(UsageError, match="task snli reads snli"):
        list(make_task("snli").read(SplitFiles("dev", "columns", files.paths)))


def test_fields_number_words_and_label(files: SplitFiles) -> None:
    task = make_task("snli")
    _, example, _ = task.read(files)
    table = WordTable(("dog", "runs"), torch.zeros(4, 2), trainable=True)
    vocabularies = Vocabularies(table, task.vocabularies([example]))
    assert vocabularies["labels"].items == ("contradiction", "entailment", "neutral")
    fields = task.index(example, vocabularies)
    assert {name: field.tolist() for name, field in fields.items()} == {
        "premise": [1, 2, 3, 1],
        "hypothesis": [1, 2, 1, 1, 1],
        "label": 2,
    }


def test_gold_is_perfect_and_one_wrong_answer_costs_a_third(files: SplitFiles) -> None:
    task = make_task("snli")
    examples = list(task.read(files))
    assert task.score([task.count(row, task.gold(row)) for row in examples]) == {"accuracy": 100.0}
    guessed = [task.count(row, "neutral") for row in examples]
    assert task.score(guessed)["accuracy"] == pytest.approx(100 / 3)


def test_both_sides_share_the_weights_of_a_place() -> None:
    config = run_config("task=snli", "size=paper")
    assert (config.elmo.where, config.elmo.layer_norm, config.elmo.lam) == ("both", True, 0.001)
    injection = Injection(config.elmo, (0, 1, 2), dim=4)
    assert sorted(name for name, _ in injection.named_parameters()) == [
        f"mixes.{place}.{name}" for place in ("input", "output") for name in ("gamma", "w")
    ]
    stream = Stream(torch.randn(2, 3, 5, 4), torch.ones(2, 5, dtype=torch.bool), (1, 1))
    mixed = injection({"premise": stream, "hypothesis": stream})
    assert mixed["premise"].at_input.equal(mixed["hypothesis"].at_input)
    assert mixed["premise"].at_output.equal(mixed["hypothesis"].at_output)
