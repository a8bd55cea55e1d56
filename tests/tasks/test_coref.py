"""The coreference plug-in on a handful of documents."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.types import SplitFiles, UsageError
from tests.support.composition import make_task

ROWS = """#begin document (bc/cctv/0001); part 000
d 0 0 Ann NNP * - - - ann * (1)
d 0 1 saw VBD * - - - ann * -
d 0 2 -LRB- JJ * - - - ann * -
d 0 3 rain NN * - - - ann * (2)

d 0 0 She PRP * - - - bob * (1)

#end document
#begin document (plain); part 001
d 1 0 Rain NN * - - - - * -

#end document
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "train.conll"
    path.write_text(ROWS, encoding="utf-8")
    return path


def test_documents_keep_sentences_speakers_and_chains(path: Path) -> None:
    first, second = make_task("coref").read(SplitFiles("train", "conll2012", (path,)))
    assert (first.id, second.id) == ("bc/cctv/0001;000", "plain;001")
    assert first.sentences == (("Ann", "saw", "(", "rain"), ("She",))
    assert first.speakers == ("ann", "ann", "ann", "ann", "bob")
    assert first.clusters == (((0, 1), (4, 5)), ((3, 4),))
    assert (first.genre, second.genre) == ("", "")


def test_a_corpus_entry_names_genres_and_drops_singletons(path: Path) -> None:
    dropped = []
    files = SplitFiles(
        "train",
        "conll2012",
        (path,),
        {"genre": "^([a-z]{2})/", "drop_singletons": True},
        lambda what, count: dropped.append((what, count)),
    )
    first, second = make_task("coref").read(files)
    assert (first.genre, second.genre) == ("bc", "")
    assert first.clusters == (((0, 1), (4, 5)),)
    assert dropped == [("chains of one mention", 1), ("chains of one mention", 0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"genres": "(a)"}, r"options\.genres: task coref knows genre and drop_singletons only"),
        ({"genre": "a"}, r"expected a group in brackets"),
        ({"genre": "("}, r"not a regular expression"),
        ({"drop_singletons": "perhaps"}, r"options\.drop_singletons"),
    ],
)
def test_options_that_mean_nothing_are_refused(path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(make_task("coref").read(SplitFiles("train", "conll2012", (path,), options)))


def test_other_formats_are_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="conll2012"):
        list(make_task("coref").read(SplitFiles("train", "columns", (path,))))


def test_fields_are_numbers_by_sentence_and_by_token(path: Path) -> None:
    task = make_task("coref")
    first, second = task.read(SplitFiles("train", "conll2012", (path,), {"genre": "^([a-z]{2})/"}))
    named = Vocabularies(WordTable(("ann", "rain"), torch.zeros(4, 2), True), task.vocabularies([first]))
    fields = task.index(first, named)
    assert fields["words"].tolist() == [[2, 1, 1, 3], [1, 0, 0, 0]]
    assert fields["characters"].shape == (2, 4, 4)
    assert fields["speakers"].tolist() == [0, 0, 0, 0, 1]
    assert fields["mentions"].tolist() == [[0, 1, 1], [4, 5, 1], [3, 4, 2]]
    assert (int(fields["genre"]), int(task.index(second, named)["genre"])) == (2, 1)
    assert task.index(second, named)["mentions"].shape == (0, 3)


def test_gold_is_perfect_and_a_missed_link_is_not(path: Path) -> None:
    task = make_task("coref")
    examples = list(task.read(SplitFiles("train", "conll2012", (path,), {"drop_singletons": True})))
    assert (
        task.score([task.count(example, task.gold(example)) for example in examples])["average_f1"] == 100.0
    )
    assert task.score([task.count(example, []) for example in examples])["average_f1"] == 0.0
