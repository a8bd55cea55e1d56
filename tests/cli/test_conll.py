"""Predicted chains as a CoNLL-2012 file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elmo_bench.cli.main import main
from elmo_bench.cli.score import coref_figures
from elmo_bench.data.coreference import read_coreference
from tests.tasks.test_coref import ROWS

CHAINS = [[[0, 1], [4, 5]], [[0, 3], [3, 4]]]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key.conll"
    path.write_text(ROWS, encoding="utf-8")
    return path


def predict(directory: Path, rows: dict[str, object]) -> Path:
    path = directory / "predictions.jsonl"
    lines = [json.dumps({"id": name, "prediction": chains}) for name, chains in rows.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_chains_are_written_and_read_back(key: Path, tmp_path: Path) -> None:
    predictions = predict(tmp_path, {"plain;001": [], "bc/cctv/0001;000": CHAINS})
    response = tmp_path / "response.conll"
    assert main(["conll", str(key), str(predictions), str(response)]) == 0
    first, second = read_coreference(response)
    assert sorted(first.clusters) == [((0, 1), (4, 5)), ((0, 3), (3, 4))]
    assert second.clusters == ()
    assert [document.sentences for document in (first, second)] == [
        document.sentences for document in read_coreference(key)
    ]
    assert coref_figures(key, response)["muc"]["recall"] == 100.0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"plain;001": []}, "expected a line for the document bc/cctv/0001;000"),
        ({"plain;001": [], "bc/cctv/0001;000": [], "other;000": []}, "got other;000 too"),
        ({"plain;001": [[[0, 2]]], "bc/cctv/0001;000": []}, r"[start, end) within 1 tokens"),
        ({"plain;001": [[[1, 1]]], "bc/cctv/0001;000": []}, r"[start, end) within 1 tokens"),
        ({"plain;001": [[["a", 1]]], "bc/cctv/0001;000": []}, "expected a number"),
    ],
)
def test_predictions_that_do_not_fit_are_refused(
    key: Path, tmp_path: Path, rows: dict[str, object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    response = tmp_path / "response.conll"
    assert main(["conll", str(key), str(predict(tmp_path, rows)), str(response)]) == 1
    assert message in capsys.readouterr().err
    assert not response.exists()
