"""The POS plug-in on a handful of sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.types import DataError, SplitFiles, UsageError
from tests.support.composition import make_task

CONLLU = """# newdoc
1\tDogs\tdog\tNOUN\tNNS\t_\t_\t_\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t_\t_\t_\t_
3\t-RRB-\t)\tPUNCT\t-RRB-\t_\t_\t_\t_\t_

1\tStop\tstop\tVERB\tVB\t_\t_\t_\t_\t_
"""
CONLL2012 = """#begin document (d); part 000
d 0 0 Dogs NNS * - - - - * -
d 0 1 bark VBP * - - - - * -

#end document
"""


def files(tmp_path: Path, content: str, format: str = "conllu") -> SplitFiles:
    path = tmp_path / "train"
    path.write_text(content, encoding="utf-8")
    return SplitFiles("train", format, (path,))


def test_either_tag_set_is_read(tmp_path: Path) -> None:
    first, second = make_task("pos").read(files(tmp_path, CONLLU))
    assert (first.id, second.id) == ("train-1", "train-2")
    assert (first.words, first.tags) == (("Dogs", "bark", ")"), ("NNS", "VBP", "-RRB-"))
    assert [example.tags for example in make_task("pos", tags="upos").read(files(tmp_path, CONLLU))] == [
        ("NOUN", "VERB", "PUNCT"),
        ("VERB",),
    ]


def test_conll2012_has_treebank_tags_only(tmp_path: Path) -> None:
    (example,) = make_task("pos").read(files(tmp_path, CONLL2012, "conll2012"))
    assert (example.words, example.tags) == (("Dogs", "bark"), ("NNS", "VBP"))
    with pytest.raises(UsageError, match="use xpos"):
        list(make_task("pos", tags="upos").read(files(tmp_path, CONLL2012, "conll2012")))
    with pytest.raises(UsageError, match="conllu and conll2012"):
        list(make_task("pos").read(files(tmp_path, CONLL2012, "columns")))


def test_a_left_out_tag_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train:3: expected a tag for task.settings.tags=xpos"):
        list(make_task("pos").read(files(tmp_path, CONLLU.replace("VBP", "_"))))


def test_gold_is_perfect_and_tags_unseen_in_training_count_as_wrong(tmp_path: Path) -> None:
    task = make_task("pos")
    first, second = task.read(files(tmp_path, CONLLU))
    vocabularies = Vocabularies(WordTable((), torch.zeros(2, 0), False), task.vocabularies([first]))
    assert vocabularies["tags"].items == ("-RRB-", "NNS", "VBP")
    assert task.index(first, vocabularies)["tags"].tolist() == [1, 2, 0]
    assert task.index(second, vocabularies)["tags"].tolist() == [0]
    assert task.score([task.count(x, task.gold(x)) for x in (first, second)])[task.metric] == 100.0
    wrong = [task.count(first, ["NNS", "NNS", "-RRB-"]), task.count(second, ["-RRB-"])]
    assert task.score(wrong)[task.metric] == 50.0
