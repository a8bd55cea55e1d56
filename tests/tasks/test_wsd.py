"""The WSD plug-in on a handful of targets."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.task import Named
from elmo_bench.tasks.wsd import WsdExample
from elmo_bench.tensors import Widths
from elmo_bench.types import SplitFiles, UsageError
from tests.support.composition import make_task

SENSES = """bank%1:14:00:: 00000001 1 20
bank%1:17:01:: 00000002 2 10
be%2:42:03:: 00000003 1 9
cool%5:00:00:cold:00 00000004 2 1
cool%3:00:00:: 00000005 1 5
big_sleep%1:00:00:: 00000006 1 0
"""
TEXT = """<?xml version="1.0" encoding="UTF-8" ?>
<corpus lang="en" source="one">
<text id="d0">
<sentence id="d0.s0">
<wf lemma="the" pos="DET">The</wf>
<instance id="t0" lemma="bank" pos="NOUN">bank</instance>
<instance id="t1" lemma="be" pos="VERB">is</instance>
<instance id="t2" lemma="cool" pos="ADJ">cool</instance>
<instance id="t3" lemma="big_sleep" pos="NOUN">Big Sleep</instance>
</sentence>
<sentence id="d0.s1">
<wf lemma="no" pos="DET">No</wf>
</sentence>
</text>
</corpus>
"""
KEYS = "t0 bank%1:17:01::\nt1 be%2:42:03::\nt2 cool%5:00:00:cold:00 cool%3:00:00::\nt3 foreign%1:00:00::\n"


def collection(tmp_path: Path, name: str, keys: str = KEYS) -> tuple[Path, Path]:
    paths = tmp_path / f"{name}.data.xml", tmp_path / f"{name}.gold.key.txt"
    for path, content in zip(paths, (TEXT, keys), strict=True):
        path.write_text(content, encoding="utf-8")
    return paths


@pytest.fixture
def files(tmp_path: Path) -> SplitFiles:
    inventory = tmp_path / "index.sense"
    inventory.write_text(SENSES, encoding="utf-8")
    two = collection(tmp_path, "two", KEYS.replace("bank%1:17:01::", "bank%1:14:00::"))
    return SplitFiles("test", "unified", (inventory, *collection(tmp_path, "one"), *two))


def read(files: SplitFiles) -> tuple[WsdExample, WsdExample]:
    one, two = make_task("wsd").read(files)
    return one, two


def test_sentences_with_targets_are_read_from_every_set(files: SplitFiles) -> None:
    one, two = read(files)
    assert (one.id, one.collection, two.id, two.collection) == ("one-1", "one", "two-1", "two")
    assert one.corpus_id == "d0.s0" and isinstance(one, Named)
    assert one.words == ("The", "bank", "is", "cool", "Big", "Sleep")
    assert [(target.start, target.end) for target in one.targets] == [(1, 2), (2, 3), (3, 4), (4, 6)]


def test_candidates_are_the_senses_of_lemma_and_part_of_speech_by_number(files: SplitFiles) -> None:
    one, _ = read(files)
    assert [target.candidates for target in one.targets] == [
        ("bank%1:14:00::", "bank%1:17:01::"),
        ("be%2:42:03::",),
        ("cool%3:00:00::", "cool%5:00:00:cold:00"),  # satellites are adjectives
        ("big_sleep%1:00:00::",),
    ]


def test_candidates_by_lemma_begin_with_the_own_part_of_speech(files: SplitFiles) -> None:
    files.paths[0].write_text(SENSES + "bank%2:40:00:: 00000007 1 30\n", encoding="utf-8")
    bank = next(iter(make_task("wsd", candidates="lemma").read(files))).targets[0]
    assert bank.candidates == ("bank%1:14:00::", "bank%1:17:01::", "bank%2:40:00::")
    assert next(iter(make_task("wsd").read(files))).targets[0].candidates == bank.candidates[:2]


def test_fields_number_senses_from_one(files: SplitFiles) -> None:
    task, (one, two) = make_task("wsd"), read(files)
    vocabularies = Vocabularies(WordTable((), torch.zeros(2, 0), False), task.vocabularies([one]))
    senses = vocabularies["senses"]
    assert len(senses) == 5
    fields = task.index(two, vocabularies)
    number = {key: senses.id_of(key) + 1 for key in senses.items}
    assert fields["spans"].tolist() == [[1, 2], [2, 3], [3, 4], [4, 6]]
    assert fields["candidates"].tolist() == [
        [0, number["bank%1:17:01::"]],  # the other one is not in the training set
        [number["be%2:42:03::"], 0],
        [number["cool%3:00:00::"], number["cool%5:00:00:cold:00"]],
        [0, 0],
    ]
    assert fields["gold"].tolist()[0] == [0, 0]
    assert task.build_head(vocabularies, Widths(4, 0)).means.shape == (6, 4)


def test_any_right_sense_counts_and_sets_are_summed(files: SplitFiles) -> None:
    task, (one, two) = make_task("wsd"), read(files)
    assert task.gold(one) == [2, 1, 1, 0]  # of the last the inventory does not know the right sense
    counts = [task.count(one, [2, 1, 2, 1]), task.count(two, [2, 1, 1, 1])]
    assert task.score(counts) == {"f1": 62.5, "f1:one": 75.0, "f1:two": 50.0}
    assert task.count(one, [2, 1])["correct"] == 2  # what is not answered is wrong


def test_files_that_do_not_pair_up_are_refused(files: SplitFiles) -> None:
    for paths in (files.paths[:1], files.paths[:2]):
        with pytest.raises(UsageError, match="inventory of senses, then pairs"):
            list(make_task("wsd").read(SplitFiles("test", "unified", paths)))
    with pytest.raises(UsageError, match="reads unified"):
        list(make_task("wsd").read(SplitFiles("test", "xml", files.paths)))
