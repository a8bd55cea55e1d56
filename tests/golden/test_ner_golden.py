"""NER figures against conlleval's own, on damaged predictions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from elmo_bench.cli.score import ner_figures

FILES = Path(__file__).parent / "files"


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    return shared / "goldens" / "ner"


def test_overall_figures_are_conllevals(golden: Path) -> None:
    expected = json.loads((golden / "expected.json").read_text())
    figures = ner_figures(golden / "tagged.txt")
    assert {name: figures[name] for name in expected} == expected


def test_every_figure_conlleval_prints_is_ours(golden: Path) -> None:
    figures = ner_figures(golden / "tagged.txt")
    printed = (golden / "official_output.txt").read_text().splitlines()
    assert figures["tokens"] == int(re.findall(r"processed (\d+) tokens", printed[0])[0])
    assert figures["accuracy"] == float(re.findall(r"accuracy: +([\d.]+)%", printed[1])[0])
    types = {}
    for line in printed[2:]:
        label, *numbers = re.findall(r"[A-Za-z]+(?=: precision)|(?<![A-Z])[\d.]+", line)
        types[label] = [float(number) for number in numbers]
    names = ("precision", "recall", "f1", "predicted")
    assert {label: [of[name] for name in names] for label, of in figures["types"].items()} == types


def test_illegal_sequences_are_scored_as_conlleval_scores_them() -> None:
    figures = ner_figures(FILES / "ner_illegal.conll")
    expected = json.loads((FILES / "ner_illegal.json").read_text())
    rows = {"": figures} | figures["types"]
    theirs = {"": expected["overall"]["chunks"]} | expected["slots"]["chunks"]
    assert rows.keys() == theirs.keys()
    for label, row in theirs.items():
        ours = rows[label]
        assert (ours["gold"], ours["predicted"], ours["correct"]) == tuple(row["stats"].values())
        rates = (round(100 * row["evals"][name], 2) for name in ("prec", "rec", "f1"))
        assert (ours["precision"], ours["recall"], ours["f1"]) == tuple(rates)
    tags = expected["overall"]["tags"]
    assert figures["tokens"] == tags["stats"]["gold"]
    assert figures["accuracy"] == round(100 * tags["evals"]["f1"], 2)
