"""SRL figures against srl-eval.pl's own, on propositions with pieces added, moved and dropped."""

from __future__ import annotations

import re
from pathlib import Path

from elmo_bench.cli.score import srl_figures

FILES = Path(__file__).parent / "files"
GOLD, PREDICTED, PRINTED = FILES / "srl_gold.props", FILES / "srl_predicted.props", FILES / "srl_scores.txt"
NAMES = ("correct", "excess", "missed", "precision", "recall", "f1")


def test_every_figure_srl_eval_prints_is_ours() -> None:
    figures = srl_figures(GOLD, PREDICTED)
    ours = {"Overall": figures} | figures["labels"]
    rows = {label: {name: of[name] for name in NAMES} for label, of in ours.items()}
    printed = PRINTED.read_text()
    table = re.findall(r"^ *(\S+)((?: +[\d.]+){6})$", printed, re.MULTILINE)
    assert len(table) > 20
    assert rows == {label: dict(zip(NAMES, map(float, row.split()), strict=True)) for label, row in table}
    assert figures["propositions"] == int(re.findall(r"Number of Propositions : +(\d+)", printed)[0])
    assert figures["perfect_propositions"] == float(re.findall(r"perfect props : +([\d.]+)", printed)[0])


def test_gold_against_itself_is_perfect() -> None:
    figures = srl_figures(GOLD, GOLD)
    assert (figures["precision"], figures["recall"], figures["perfect_propositions"]) == (100, 100, 100)


def test_the_files_are_unchanged_copies(shared: Path) -> None:
    golden = shared / "goldens" / "srl"
    copies = {GOLD: "gold.props", PREDICTED: "predicted.props", PRINTED: "official_output.txt"}
    for copy, source in copies.items():
        assert copy.read_bytes() == (golden / source).read_bytes()
