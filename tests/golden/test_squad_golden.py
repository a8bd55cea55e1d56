"""SQuAD figures against evaluate-v1.1.py, to the last digit, on published answers and odd strings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elmo_bench.cli.score import squad_figures

FILES = Path(__file__).parent / "files"


def test_both_figures_are_the_official_ones_on_the_generated_world() -> None:
    figures = squad_figures(FILES / "squad_dataset.json", FILES / "squad_predictions.json")
    expected = json.loads((FILES / "squad_scores.json").read_text())
    assert {name: figures[name] for name in expected} == expected  # as floats: same order of summing
    assert 0 < figures["answered"] < figures["questions"]


def test_both_figures_are_the_official_ones(shared: Path) -> None:
    golden = shared / "goldens" / "squad"
    expected = json.loads((golden / "expected.json").read_text())
    dataset = shared / "data" / "squad" / expected.pop("dataset")
    figures = squad_figures(dataset, golden / "predictions.json")
    assert figures.pop("unknown") == 0
    # equal as floats: both sum in the order of the questions
    assert figures == expected


def test_gold_answers_are_perfect(shared: Path, tmp_path: Path) -> None:
    dataset = shared / "data" / "squad" / "dev-v1.1.json"
    questions = [
        question
        for article in json.loads(dataset.read_text())["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    answers = {question["id"]: question["answers"][0]["text"] for question in questions}
    predictions = tmp_path / "predictions.json"
    predictions.write_text(json.dumps(answers))
    figures = squad_figures(dataset, predictions)
    assert figures["exact_match"] == 100
    # an answer that is nothing but an article is empty once normalised, and the script gives it F1 0
    assert figures["f1"] == pytest.approx(100, abs=0.05)
