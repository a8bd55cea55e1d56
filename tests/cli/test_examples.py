"""`examples`: which cases are found, what is printed of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from elmo_bench.hashing import hash_file, hash_files
from elmo_bench.records import predictions_file, write_predictions, write_record
from elmo_bench.runs.answers import _read_predictions
from tests.support.report_records import ELMO, NONE, make_record, publish

SENTENCES = ("Ada met Bo Li in Oslo .", "Oslo slept .", "Nobody came .")
GOLD = (
    ["B-PER", "O", "B-PER", "I-PER", "O", "B-LOC", "O"],
    ["B-LOC", "O", "O"],
    ["O", "O", "O"],
)
FIRST = (GOLD[0], ["B-PER", "O", "O"], ["B-PER", "O", "O"])
SECOND = (["B-PER", "O", "B-LOC", "I-LOC", "O", "O", "O"], GOLD[1], GOLD[2])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "ner.conll"
    rows = [
        "".join(f"{word} {tag}\n" for word, tag in zip(sentence.split(), tags, strict=True))
        for sentence, tags in zip(SENTENCES, GOLD, strict=True)
    ]
    path.write_text("\n".join(rows))
    return path


def write_run(root: Path, corpus: Path, elmo: dict[str, Any], predictions: Any, **changes: Any) -> Path:
    """A published record of a run on own files, with its predictions beside it."""
    files = {split: str(corpus) for split in ("train", "dev", "test")}
    hashes = {f"data/{split}": hash_files([corpus]) for split in files}
    config = {"task": {"name": "ner"}, "data": {"format": "columns", **files}}
    made = make_record(
        "ner",
        1,
        20,
        elmo,
        **{"source": "files", "corpus": "own", "config": config, "hashes": hashes, **changes},
    )
    run = publish(root / "records", made, 20)
    path = run.counts.with_suffix(f".{predictions_file('test')}")
    write_predictions(path, [(f"test-{number}", one) for number, one in enumerate(predictions, start=1)])
    record = run.record.model_copy(
        update={"hashes": {**run.record.hashes, predictions_file("test"): hash_file(path)}}
    )
    write_record(run.counts.with_suffix(".json"), record)
    return run.counts.with_suffix(".json")


@pytest.fixture
def runs(tmp_path: Path, corpus: Path) -> tuple[Path, Path]:
    return write_run(tmp_path, corpus, NONE, FIRST), write_run(tmp_path, corpus, ELMO, SECOND)


def examples(capsys: Any, *words: object) -> tuple[int, str, str]:
    code = main(["examples", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_what_one_run_has_right_and_the_other_wrong_is_printed(runs: tuple[Path, Path], capsys: Any) -> None:
    code, out, _ = examples(capsys, *runs)
    assert code == 0
    assert "A right where B is wrong in 1 examples, B right where A is wrong in 2" in out
    assert "test-1\n  Ada met Bo Li in Oslo .\n" in out
    assert "    Bo Li [3-4]: gold and A PER, B LOC\n    Oslo [6]: gold and A LOC, B –\n" in out
    assert "Ada" not in out.partition("Oslo .\n")[2]  # both are right


def test_the_other_way_round_and_only_so_many(runs: tuple[Path, Path], capsys: Any) -> None:
    _, out, _ = examples(capsys, *runs, "--reverse", "--count", "1")
    assert "test-2\n  Oslo slept .\n    Oslo [1]: gold and B LOC, A PER\n" in out
    assert "1 more: --count 0 prints all" in out
    _, out, _ = examples(capsys, *runs, "--reverse", "--count", "0")
    assert "test-3\n  Nobody came .\n    Nobody [1]: gold and B –, A PER\n" in out


def test_json_has_a_line_for_every_case(runs: tuple[Path, Path], capsys: Any) -> None:
    _, out, _ = examples(capsys, *runs, "--reverse", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["id"] for row in rows] == ["test-2", "test-3"]
    assert rows[0]["differences"] == [{"asked": "Oslo [1]", "gold": "LOC", "wrong": "PER"}]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line_of_predictions(tmp_path: Path, character: str) -> None:
    write_predictions(tmp_path / "predictions", [("a", f"x{character}y"), ("b", "z")])
    assert _read_predictions(tmp_path / "predictions") == {"a": f"x{character}y", "b": "z"}


def test_runs_of_different_data_are_refused(tmp_path: Path, corpus: Path, capsys: Any) -> None:
    first = write_run(tmp_path, corpus, NONE, FIRST)
    other = {"hashes": {"data/test": "0" * 64}}
    code, _, error = examples(capsys, first, write_run(tmp_path, corpus, ELMO, SECOND, **other))
    assert code == 2
    assert "the test set is" in error


def test_a_corpus_that_has_changed_is_refused(runs: tuple[Path, Path], corpus: Path, capsys: Any) -> None:
    corpus.write_text(corpus.read_text().replace("Ada", "Eve"))
    code, _, error = examples(capsys, *runs)
    assert code == 2
    assert "the test file is not the one of the run's record" in error


def test_missing_and_damaged_predictions_are_named(runs: tuple[Path, Path], capsys: Any) -> None:
    predictions = runs[0].with_suffix(f".{predictions_file('test')}")
    predictions.write_text("damaged\n")
    code, _, error = examples(capsys, *runs)
    assert (code, "not the predictions of its record" in error) == (1, True)
    predictions.unlink()
    code, _, error = examples(capsys, *runs)
    assert code == 3
    assert "its predictions are not at hand" in error and str(predictions) in error


def test_a_negative_count_is_refused(runs: tuple[Path, Path], capsys: Any) -> None:
    assert examples(capsys, *runs, "--count", "-1")[0] == 2
