"""Coreference figures against the reference scorer v8.01, on a damaged response."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elmo_bench.commands.score import coref_figures

RATES = ("recall", "precision", "f1")


def test_every_figure_the_scorer_prints_is_ours(shared: Path) -> None:
    golden = shared / "goldens" / "coref_ontogum"
    expected = json.loads((golden / "expected.json").read_text())
    figures = coref_figures(golden / "key.conll", golden / "response.conll")
    assert figures.keys() == expected.keys()
    assert figures["average_f1"] == expected["average_f1"]
    for metric in ("muc", "bcub", "ceafe"):
        ours, theirs = figures[metric], expected[metric]
        assert {name: ours[name] for name in RATES} == {name: theirs[name] for name in RATES}
        # perl prints 15 digits
        assert ours == {name: pytest.approx(number, rel=1e-14) for name, number in theirs.items()}


def test_gold_against_itself_is_perfect(shared: Path) -> None:
    key = shared / "data" / "coref" / "ontogum" / "test.conll"
    figures = coref_figures(key, key)
    assert figures["average_f1"] == 100
    assert {figures[metric][rate] for metric in ("muc", "bcub", "ceafe") for rate in RATES} == {100}
