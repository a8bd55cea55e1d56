"""The SQuAD plug-in on a handful of questions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from elmo_bench.data.squad import read_answers
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.tasks.squad.task import WIDENED, SquadTask
from elmo_bench.types import SplitFiles, UsageError
from tests.support.composition import make_task

ANN = "Ann's dog, an Airedale, was born in 1993-1994 (in spring).  It can't bark."
RAIN = "Rain fell."
ASKED = [
    ("q1", "Whose dog?", ["Ann"]),
    # the first answer cuts through a token, the second does not
    ("q2", "When?", ["1994", "1993-1994 ", "in 1993-1994"]),
    ("q3", "Which century?", ["199"]),
    ("q4", "What can't it do?", ["bark", "bark."]),
]


def write(path: Path, articles: dict[str, dict[str, list[tuple[str, str, list[str]]]]]) -> Path:
    data: list[Any] = []
    for title, paragraphs in articles.items():
        rows = []
        for context, asked in paragraphs.items():
            questions = [
                {
                    "id": name,
                    "question": question,
                    "answers": [{"answer_start": context.index(text), "text": text} for text in answers],
                }
                for name, question, answers in asked
            ]
            rows.append({"context": context, "qas": questions})
        data.append({"title": title, "paragraphs": rows})
    path.write_text(json.dumps({"data": data, "version": "1.1"}), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> SplitFiles:
    articles = {"Dogs": {ANN: ASKED, RAIN: [("q5", "What fell?", ["Rain"])]}}
    return SplitFiles("train", "squad", (write(tmp_path / "train.json", articles),))


def test_spans_are_of_whole_tokens_and_what_cuts_through_them_is_counted(files: SplitFiles) -> None:
    tally: Counter[str] = Counter()
    told = SplitFiles(
        files.split, files.format, files.paths, leave_out=lambda what, n: tally.update({what: n})
    )
    examples = list(make_task("squad").read(told))
    assert [example.id for example in examples] == ["q1", "q2", "q3", "q4", "q5"]  # none is dropped
    cut = [example.paragraph.cut(example.first, example.last) for example in examples]
    assert cut == ["Ann", "1993-1994", "1993-1994", "bark", "Rain"]
    assert +tally == {WIDENED: 1}


def test_a_paragraph_is_held_and_numbered_once_for_all_of_its_questions(files: SplitFiles) -> None:
    task = make_task("squad", character_minimum=1)
    examples = list(task.read(files))
    assert {id(example.paragraph) for example in examples[:4]} == {id(examples[0].paragraph)}
    assert task.sentences(examples[0])["context"][0] is task.sentences(examples[3])["context"][0]
    vocabularies = vocabularies_of(task, files)
    first, last = (task.index(example, vocabularies) for example in (examples[0], examples[3]))
    assert first["context_characters"] is last["context_characters"]
    others = Vocabularies(WordTable(("Rain",), torch.zeros(3, 2), True), vocabularies.named)
    assert task.index(examples[0], others)["context_words"] is not first["context_words"]


def vocabularies_of(task: SquadTask, files: SplitFiles) -> Vocabularies:
    table = WordTable(("dog", "bark"), torch.zeros(4, 2), trainable=True)
    return Vocabularies(table, task.vocabularies(list(task.read(files))))


def test_fields_give_back_the_original_text(files: SplitFiles) -> None:
    task = make_task("squad", character_minimum=1, word_length=3)
    vocabularies = vocabularies_of(task, files)
    example = list(task.read(files))[3]
    fields = task.index(example, vocabularies)
    assert "".join(map(chr, fields["context_text"].tolist())) == ANN
    tokens = " ".join(ANN[start:end] for start, end in fields["offsets"].tolist())
    assert tokens == "Ann 's dog , an Airedale , was born in 1993-1994 ( in spring ) . It ca n't bark ."
    assert fields["span"].tolist() == [19, 19]
    assert fields["context_words"].tolist() == [1, 1, 2, *[1] * 16, 3, 1]
    airedale = [vocabularies["characters"].items[number] for number in fields["context_characters"][5]]
    assert airedale == ["A", "i", "r"]
    assert len(fields["question_words"]) == len(fields["question_characters"]) == 6


def test_characters_of_a_paragraph_count_once(files: SplitFiles) -> None:
    # the Y of nobody, the R of Rain once though two questions could be asked, the W of four questions
    characters = make_task("squad", character_minimum=2).vocabularies(list(make_task("squad").read(files)))[
        "characters"
    ]
    assert "R" not in characters and "W" in characters and "A" in characters


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_dev_is_whole_articles_of_train_where_the_corpus_says_so(tmp_path: Path, share: float) -> None:
    titles = [f"Article {number}" for number in range(200)]
    articles = {title: {RAIN: [(f"{title} {n}", "What?", ["Rain"]) for n in range(2)]} for title in titles}
    path = write(tmp_path / "train.json", articles)
    task = make_task("squad", dev_share=share)

    def ids(split: str, option: bool) -> list[str]:
        options = {"dev_from_train": True} if option else {}
        return [example.id for example in task.read(SplitFiles(split, "squad", (path,), options))]

    train, dev, test = (ids(split, option=True) for split in ("train", "dev", "test"))
    assert sorted(train + dev) == sorted(test) and len(test) == 400
    assert {name.rsplit(" ", 1)[0] for name in train}.isdisjoint(name.rsplit(" ", 1)[0] for name in dev)
    assert abs(len(dev) / 400 - share) < 0.08
    assert ids("train", option=False) == ids("dev", option=False) == test
    smaller = make_task("squad", dev_share=share / 2).read(
        SplitFiles("dev", "squad", (path,), {"dev_from_train": True})
    )
    assert {example.id for example in smaller} < set(dev)


def test_gold_is_perfect_any_answer_counts_and_a_part_of_it_in_part(files: SplitFiles) -> None:
    task = make_task("squad")
    examples = list(task.read(files))
    perfect = task.score([task.count(example, task.gold(example)) for example in examples])
    assert perfect == {"exact_match": 100.0, "f1": 100.0}
    assert task.count(examples[1], "in 1993-1994")["exact_match"] == 1
    half = task.count(examples[3], "can't bark")
    assert half["exact_match"] == 0
    assert half["f1"] == pytest.approx(2 / 3)


def test_rendered_predictions_are_read_by_the_score_command(files: SplitFiles, tmp_path: Path) -> None:
    task = make_task("squad")
    examples = list(task.read(files))
    path = tmp_path / "predictions.json"
    path.write_text(task.render(examples, [task.gold(example) for example in examples]), encoding="utf-8")
    assert read_answers(path) == {example.id: example.answers[0] for example in examples}


def test_strange_formats_and_options_are_refused(files: SplitFiles) -> None:
    with pytest.raises(UsageError, match="reads squad"):
        list(make_task("squad").read(SplitFiles("train", "jsonl", files.paths)))
    with pytest.raises(UsageError, match="dev_from_train only"):
        list(make_task("squad").read(SplitFiles("train", "squad", files.paths, {"dev_share": 0.2})))
    with pytest.raises(UsageError, match="dev_from_train=no: expected true or false"):
        list(make_task("squad").read(SplitFiles("train", "squad", files.paths, {"dev_from_train": "no"})))
