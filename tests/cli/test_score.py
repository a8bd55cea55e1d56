"""The score command: JSON on success, one readable line and the right exit code otherwise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from elmo_bench.cli import score
from elmo_bench.cli.main import main
from elmo_bench.metrics.accuracy import count_correct
from elmo_bench.metrics.entities import count_entities
from elmo_bench.types import Counts


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    file = tmp_path / "tagged.conll"
    file.write_text("Zoë B-PER I-PER\nsaw O O\n\nRome B-LOC O\n", encoding="utf-8")
    return file


def test_ner_prints_json(tagged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "ner", str(tagged)]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["precision"], figures["recall"], figures["f1"]) == (100, 50, 66.67)
    assert figures["types"]["LOC"] == {
        "precision": 0, "recall": 0, "f1": 0, "correct": 0, "predicted": 0, "gold": 1,
    }  # fmt: skip


def test_accuracy_prints_json(tagged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "accuracy", str(tagged)]) == 0
    assert json.loads(capsys.readouterr().out) == {"accuracy": 100 / 3, "correct": 1, "answers": 3}


@pytest.fixture
def sentiment(tmp_path: Path) -> tuple[str, str]:
    """Three trees, and labels of which one is wrong."""
    trees, predicted = tmp_path / "trees.txt", tmp_path / "labels.txt"
    trees.write_text("(3 (2 good) (2 play))\n(1 bad)\n(1 (2 no) (2 play))\n")
    predicted.write_text("3\n1\n0\n")
    return str(trees), str(predicted)


def test_seqeval_finds_the_same(tagged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "ner", str(tagged), "--check"]) == 0
    figures = json.loads(capsys.readouterr().out)
    ((library, check),) = figures["check"].items()
    assert library.startswith("seqeval ")
    assert (check["f1"], check["accuracy"], check["f1:LOC"]) == (figures["f1"], figures["accuracy"], 0)


def test_scikit_learn_finds_the_same(
    tagged: Path, sentiment: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["accuracy", str(tagged)], ["sst5", *sentiment]):
        assert main(["score", *words, "--check"]) == 0
        figures = json.loads(capsys.readouterr().out)
        ((library, check),) = figures["check"].items()
        assert library.startswith("scikit-learn ")
        assert check["accuracy"] == round(figures["accuracy"], 2)
    assert (check["1"], check["3"]) == (50, 100)


def test_a_score_that_another_library_does_not_find_fails(
    tagged: Path,
    sentiment: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def chunks_without_borders(gold: tuple[str, ...], predicted: tuple[str, ...]) -> Counts:
        return count_entities(gold[:1], predicted[:1])

    def all_right(gold: list[str], predicted: list[str]) -> Counts:
        return count_correct(gold, gold)

    monkeypatch.setattr(score, "count_entities", chunks_without_borders)
    monkeypatch.setattr(score, "count_correct", all_right)
    for words in (["ner", str(tagged)], ["accuracy", str(tagged)], ["sst5", *sentiment]):
        assert main(["score", *words]) == 0
        assert main(["score", *words, "--check"]) == 1
        assert "\naccuracy " in capsys.readouterr().err


def test_failures_are_one_line_with_an_exit_code(tagged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "ner", str(tagged.with_suffix(".txt"))]) == 3
    assert capsys.readouterr().err == f"error: {tagged.with_suffix('.txt')}: no such file\n"
    assert main(["score", "srl", str(tagged), str(tagged)]) == 1
    assert capsys.readouterr().err.startswith(f"error: {tagged}:1: expected ")
    with pytest.raises(SystemExit) as caught:
        main(["score", "parsing"])
    assert caught.value.code == 2
    assert "choose from" in capsys.readouterr().err


def test_scoring_loads_no_torch() -> None:
    metrics = sorted(
        path.stem for path in (Path(__file__).parents[2] / "elmo_bench" / "metrics").glob("*.py")
    )
    names = [f"elmo_bench.metrics.{name}" for name in metrics if name != "__init__"]
    code = f"import sys, elmo_bench.cli.score, {', '.join(names)}; sys.exit('torch' in sys.modules)"
    assert len(names) >= 6
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
