"""SRL figures against srl-eval.pl's own, on propositions with pieces added, moved and dropped."""

from __future__ import annotations

import json
import re
from pathlib import Path

from elmo_bench.cli.score import srl_figures

NAMES = ("correct", "excess", "missed", "precision", "recall", "f1")


def test_every_figure_srl_eval_prints_is_ours(shared: Path) -> None:
    golden = shared / "goldens" / "srl"
    figures = srl_figures(golden / "gold.props", golden / "predicted.props")
    ours = {"Overall": figures} | figures["labels"]
    rows = {label: {name: of[name] for name in NAMES} for label, of in ours.items()}
    assert rows == json.loads((golden / "expected.json").read_text())

    printed = (golden / "official_output.txt").read_text()
    table = re.findall(r"^ *(\S+)((?: +[\d.]+){6})$", printed, re.MULTILINE)
    assert rows == {label: dict(zip(NAMES, map(float, row.split()), strict=True)) for label, row in table}
    assert figures["propositions"] == int(re.findall(r"Number of Propositions : +(\d+)", printed)[0])
    assert figures["perfect_propositions"] == float(re.findall(r"perfect props : +([\d.]+)", printed)[0])


def test_gold_against_itself_is_perfect(shared: Path) -> None:
    gold = shared / "goldens" / "srl" / "gold.props"
    figures = srl_figures(gold, gold)
    assert (figures["precision"], figures["recall"], figures["perfect_propositions"]) == (100, 100, 100)
