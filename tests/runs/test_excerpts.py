"""The context of documents: what is read, what comes out, and where it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmo_bench.catalog import list_documented
from elmo_bench.encoders.protocol import EncoderCard, Layers
from elmo_bench.encoders.store import Store
from elmo_bench.runs.excerpts import check_documents, excerpts_of, texts_of
from elmo_bench.task import Example
from elmo_bench.types import Excerpt, SplitFiles, UsageError, Words
from tests.support.composition import make_task

COLUMNS = """-DOCSTART- O

Ann B-PER
sleeps O

She O
left O
Rome B-LOC

-DOCSTART- O

Rome B-LOC
burns O
"""
TEXTS = [("Ann", "sleeps", "She", "left", "Rome"), ("Rome", "burns")]
PROPOSITIONS = """#begin document (d); part 000
d 0 0 Silence NN * - - - - * -

d 0 0 Dogs NNS * - - - - * (A0*) (A0*) -
d 0 1 come VB * come 01 - - * (V*) * -
d 0 2 bark VB * bark 01 - - * * (V*) -

#end document
"""


class LeftSums:
    """A vector is the sum of all words so far, so it tells what was read before."""

    fingerprint, layer_count, dim = "sums", 1, 1

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        return [
            np.cumsum([len(word) for word in words], dtype=np.float32)[None, :, None] for words in sentences
        ]


def read(tmp_path: Path, task: str, format: str, content: str) -> tuple[Any, list[Example]]:
    path = tmp_path / "train"
    path.write_text(content)
    plugin = make_task(task)
    return plugin, list(plugin.read(SplitFiles("train", format, (path,))))


def test_a_sentence_is_read_inside_its_document(tmp_path: Path) -> None:
    task, rows = read(tmp_path, "ner", "columns", COLUMNS)
    found = [excerpts_of(task, row, "document")["text"] for row in rows]
    assert found == [(Excerpt(TEXTS[0], 0, 2),), (Excerpt(TEXTS[0], 2, 5),), (Excerpt(TEXTS[1], 0, 2),)]
    assert texts_of(task, rows, "document") == TEXTS
    assert texts_of(task, rows, "sentence") == [TEXTS[0][:2], TEXTS[0][2:], TEXTS[1]]


def test_a_document_is_the_same_whatever_examples_are_chosen(tmp_path: Path) -> None:
    task, rows = read(tmp_path, "ner", "columns", COLUMNS)
    assert texts_of(task, rows[1:2], "document") == TEXTS[:1]


@pytest.mark.parametrize("mode", ["disk", "ram", "off"])
def test_the_vectors_are_those_of_the_whole_text(tmp_path: Path, mode: Any) -> None:
    task, rows = read(tmp_path, "ner", "columns", COLUMNS)
    encoder = LeftSums()
    store = Store(
        tmp_path, EncoderCard("sums", "sums", 1, 1), lambda: encoder, "float32", mode, progress=False
    )
    unit = store.open("data", texts_of(task, rows, "document"))
    layers, mask = unit.batch([excerpts_of(task, row, "document")["text"][0] for row in rows])
    (first,), (second,) = encoder.layers(TEXTS)
    assert layers[0, 0, :2].tolist() == first[:2].tolist()
    assert layers[1, 0].tolist() == first[2:].tolist()
    assert layers[2, 0, :2].tolist() == second.tolist()
    assert torch.equal(mask.sum(1), torch.tensor([2, 3, 2]))


def test_sentences_without_an_example_are_context_too(tmp_path: Path) -> None:
    task, rows = read(tmp_path, "srl", "conll2012", PROPOSITIONS)
    text = ("Silence", "Dogs", "come", "bark")
    assert [row.id for row in rows] == ["train-2-1", "train-2-2"]
    for row in rows:
        assert excerpts_of(task, row, "document") == {"text": (Excerpt(text, 1, 4),)}
    assert texts_of(task, rows, "document") == [text]


def test_the_sentences_of_an_example_are_excerpts_of_one_text(tmp_path: Path) -> None:
    task, rows = read(tmp_path, "coref", "conll2012", PROPOSITIONS)
    text = ("Silence", "Dogs", "come", "bark")
    assert excerpts_of(task, rows[0], "document") == {"document": (Excerpt(text, 0, 1), Excerpt(text, 1, 4))}


@pytest.mark.parametrize("content", [COLUMNS.replace("-DOCSTART- O\n\n", "")])
def test_a_corpus_without_documents_is_refused_and_others_are_named(tmp_path: Path, content: str) -> None:
    task, rows = read(tmp_path, "ner", "columns", content)
    check_documents(task, {"dev": rows}, "sentence", "mine")
    with pytest.raises(UsageError, match=r"mine \(dev\) does not name its documents.* ner/wikigold") as error:
        check_documents(task, {"dev": rows}, "document", "mine")
    assert all(name in str(error.value) for name in list_documented())


def test_a_task_without_documents_is_refused(tmp_path: Path) -> None:
    task = make_task("sst5")
    with pytest.raises(UsageError, match=r"sst \(train\) does not name"):
        check_documents(task, {"train": []}, "document", "sst")


def test_a_sentence_without_a_document_is_read_alone(tmp_path: Path) -> None:
    task, rows = read(tmp_path, "ner", "columns", "Who O\n\n" + COLUMNS)
    check_documents(task, {"train": rows}, "document", "mine")
    assert excerpts_of(task, rows[0], "document") == {"text": (Excerpt(("Who",), 0, 1),)}
    assert texts_of(task, rows, "document") == [("Who",), *TEXTS]
