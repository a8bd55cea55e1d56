"""Coreference figures against the reference scorer v8.01, on a damaged response."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from elmo_bench.cli.score import coref_figures
from elmo_bench.metrics.coreference import METRICS, count_coreference, score_coreference

FILES = Path(__file__).parent / "files"

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


def test_chains_are_scored_as_scorch_scores_them() -> None:
    key, response = (
        [
            [(mention, mention + 1) for mention in cluster]
            for cluster in json.loads((FILES / name).read_text())["clusters"].values()
        ]
        for name in ("coref_key.json", "coref_response.json")
    )
    scores = score_coreference([count_coreference(key, response)])
    printed = (FILES / "coref_scores.txt").read_text()
    rows = re.findall(r"^(MUC|B³|CEAF_e):\tR=(\S+)\tP=(\S+)\tF₁=(\S+)$", printed, re.MULTILINE)
    for metric, (_, recall, precision, f1) in zip(METRICS, rows, strict=True):
        ours = [scores[f"{metric}_{name}"] for name in ("recall", "precision", "f1")]
        assert ours == pytest.approx(
            [100 * float(recall), 100 * float(precision), 100 * float(f1)], rel=1e-12
        )
    [average] = re.findall(r"average score: (\S+)", printed)
    assert scores["average_f1"] == pytest.approx(100 * float(average), rel=1e-12)
