"""The SRL plug-in on a handful of propositions."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from elmo_bench.data.tags import Chunk
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.tasks.srl import separate_phrases
from elmo_bench.types import DataError, SplitFiles, UsageError
from tests.support.composition import make_task

ROWS = """#begin document (d); part 000
d 0 0 Ann NNP * - - - - * (ARG0*) (ARG0*) -
d 0 1 sold VBD * sell sell.01 - - * (V*) * -
d 0 2 -LRB- JJ * - - - - * (ARG1* * -
d 0 3 books NNS * book book.01 - - * *) (V*) -

d 0 0 Rain NN * - - - - * -

#end document
"""
WORDS = "Ann\nsold\nbooks\n\nRain\n\n"
PROPS = "- (A0*)\nsell (V*)\n- (A1*)\n\n-\n\n"


@pytest.fixture
def files(tmp_path: Path) -> SplitFiles:
    path = tmp_path / "train.conll"
    path.write_text(ROWS, encoding="utf-8")
    return SplitFiles("train", "conll2012", (path,))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    words, props = tmp_path / "words", tmp_path / "props"
    words.write_text(WORDS, encoding="utf-8")
    props.write_text(PROPS, encoding="utf-8")
    return words, props


def test_one_example_per_predicate(files: SplitFiles) -> None:
    sold, books = make_task("srl").read(files)
    assert (sold.id, books.id) == ("train-1-1", "train-1-2")
    assert sold.words == books.words == ("Ann", "sold", "(", "books")
    assert (sold.predicate, books.predicate) == (1, 3)
    assert sold.phrases == (Chunk("ARG0", 0, 1), Chunk("V", 1, 2), Chunk("ARG1", 2, 4))
    assert [example.predicate for example in make_task("srl", predicates="verbs").read(files)] == [1]


def test_conll2005_joins_words_and_propositions(pair: tuple[Path, Path]) -> None:
    (example,) = make_task("srl", predicates="verbs").read(SplitFiles("dev", "conll2005", pair))
    assert (example.words, example.predicate) == (("Ann", "sold", "books"), 1)
    assert example.phrases == (Chunk("A0", 0, 1), Chunk("V", 1, 2), Chunk("A1", 2, 3))


def test_words_and_propositions_that_do_not_fit_are_refused(pair: tuple[Path, Path]) -> None:
    words, props = pair
    words.write_text("Ann\nsold\n\nRain\n\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"props:1: expected 2 rows"):
        list(make_task("srl").read(SplitFiles("dev", "conll2005", pair)))
    words.write_text("Ann\nsold\nbooks\n\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"props:5: expected 1 sentences"):
        list(make_task("srl").read(SplitFiles("dev", "conll2005", pair)))
    with pytest.raises(UsageError, match="two files"):
        list(make_task("srl").read(SplitFiles("dev", "conll2005", (props,))))
    with pytest.raises(UsageError, match="conll2012 and conll2005"):
        list(make_task("srl").read(SplitFiles("dev", "columns", pair)))


def test_fields_flag_the_predicate_and_tag_the_phrases(files: SplitFiles) -> None:
    task = make_task("srl")
    sold, books = task.read(files)
    table = WordTable(("ann",), torch.zeros(3, 2), trainable=True)
    vocabularies = Vocabularies(table, task.vocabularies([books]))
    assert vocabularies["tags"].items == ("B-ARG0", "B-V", "I-ARG0", "I-V", "O")
    fields = task.index(sold, vocabularies)
    assert fields["words"].tolist() == [2, 1, 1, 1]
    assert fields["predicate"].tolist() == [0, 1, 0, 0]
    tags = [vocabularies["tags"].items[tag] for tag in fields["tags"].tolist()]
    assert tags == ["B-ARG0", "B-V", "O", "O"]  # ARG1 is unknown to a training set of the second example


def test_gold_is_perfect_and_a_missed_argument_is_not(files: SplitFiles) -> None:
    task = make_task("srl")
    examples = list(task.read(files))
    perfect = [task.count(example, task.gold(example)) for example in examples]
    assert task.score(perfect)[task.metric] == 100.0
    missed = [task.count(example, [["ARG0", 0, 1], ["V", 2, 3]]) for example in examples]
    assert task.score(missed)["recall"] == pytest.approx(200 / 3)
    assert task.score(missed)["precision"] == 100.0  # a wrong V costs nothing


def test_overlapping_phrases_keep_the_verb_and_the_outer_ones() -> None:
    verb, around, inner, apart = Chunk("V", 1, 2), Chunk("A", 0, 3), Chunk("B", 4, 5), Chunk("C", 4, 7)
    assert separate_phrases([around, inner, apart, verb]) == [verb, apart]
