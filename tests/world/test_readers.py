"""The generated files are read by the readers of the conventional formats, with nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmo_bench.data.coreference import read_coreference
from elmo_bench.data.snli import read_snli
from elmo_bench.data.squad import read_squad
from elmo_bench.data.trees import read_trees
from elmo_bench.world import WorldSize, write_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("world")
    write_world(directory, WorldSize(text=3, heldout=1))
    return directory


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_formats_readers_find_everything(world: Path, split: str) -> None:
    index = ["train", "dev", "test"].index(split)
    size = WorldSize()
    pairs = read_snli(world / "snli" / f"{split}.jsonl")
    assert (len(pairs.pairs), pairs.unlabelled, pairs.blank) == (size.snli[index], 0, 0)
    assert len(list(read_trees(world / "sst5" / f"{split}.txt"))) == size.sst5[index]
    documents = list(read_coreference(world / "coref" / f"{split}.conll"))
    assert len(documents) == size.coref[index]
    assert all(len(cluster) > 1 for document in documents for cluster in document.clusters)
    questions = list(read_squad(world / "squad" / f"{split}.json"))
    assert len({question.context for question in questions}) == size.squad[index]


def test_answers_are_cut_at_words(world: Path) -> None:
    for question in read_squad(world / "squad" / "test.json"):
        (answer,) = question.answers
        after = question.context[answer.start + len(answer.text)]
        before = question.context[answer.start - 1] if answer.start else " "
        assert before == " " and after in " ,.'"
