"""Publishing: what is kept of fine-tuned models, once, and nothing of what was only tried out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from elmo_bench.hashing import hash_file
from elmo_bench.records import (
    COUNTS,
    RUN_RECORD,
    PerplexityRecord,
    predictions_file,
    read_record,
    read_record_of,
    write_counts,
    write_record,
)
from elmo_bench.report.perplexities import describe_end, describe_schedule, summarise_perplexities
from elmo_bench.report.published import read_published
from elmo_bench.runs.answers import find_strange_predictions
from tests.support.damage import Damage, become_dangling, become_directory, become_pipe, flip, truncate
from tests.support.report_records import NONE, make_model, make_record, rows

TUNED = make_model()["finetuned"]


def write_model(root: Path, name: str, **changes: Any) -> Path:
    directory = root / "models" / name
    directory.mkdir(parents=True)
    (directory / "record.json").write_text(json.dumps(make_model(**changes)))
    return directory


def publish(root: Path, *places: Path) -> int:
    folders = [f"paths.{name}={root / name}" for name in ("runs", "models", "records")]
    return main(["publish", *map(str, places), *folders])


def test_perplexities_are_published_once_and_read_by_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(tmp_path, "small-ner-wikigold")
    assert publish(tmp_path) == 0
    assert "1 new, 0 there already" in capsys.readouterr().out
    (path,) = (tmp_path / "records").rglob("*.json")
    assert path.relative_to(tmp_path / "records") == Path("perplexity/small-ner-wikigold-111111111111.json")
    assert str(tmp_path) not in path.read_text()
    record = read_record_of(PerplexityRecord, path)
    assert (record.best_step, record.stopped) == (None, None)  # the model is from before patience
    assert record.streams["text"].after.average == 46.5
    library = read_published(tmp_path / "records")
    assert library.perplexities == (record,)
    assert library.problems == ()
    before = path.read_bytes()
    assert publish(tmp_path) == 0
    assert "0 new, 1 there already" in capsys.readouterr().out
    assert path.read_bytes() == before


def test_a_pretrained_model_is_published_with_its_perplexity_on_held_out_text(tmp_path: Path) -> None:
    content = make_model(finetuned=None)
    write_model(tmp_path, "small", finetuned=None)
    assert publish(tmp_path) == 0
    published = read_published(tmp_path / "records")
    [(name, record)] = published.pretrainings.items()
    assert name == "small"  # its directory; the configuration may have another name
    assert record.heldout.model_dump(exclude={"longest"}) == content["heldout"]
    assert published.perplexities == published.problems == ()
    assert summarise_perplexities([record]) == ("small-ner-wikigold: perplexity 46.50 on held-out text")


def test_an_unfinished_model_has_nothing_to_publish(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = write_model(tmp_path, "stopped", finished=False)
    assert publish(tmp_path) == 3
    capsys.readouterr()
    assert publish(tmp_path, stopped) == 2
    assert f"{stopped}: this model is not trained to its end" in capsys.readouterr().err


def test_what_was_tried_out_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = write_model(tmp_path, "tried", finetuned={**TUNED, "limit": 9})
    assert publish(tmp_path) == 0
    assert "0 new, 0 there already, 1 left out: trial run" in capsys.readouterr().out
    assert publish(tmp_path, place) == 2
    assert "never published" in capsys.readouterr().err


def test_a_damaged_record_of_a_model_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = write_model(tmp_path, "odd", streams={"text": {"before": 3}})
    assert publish(tmp_path) == 1
    assert f"{place / 'record.json'}: not a record of a biLM" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "tuned", "words"),
    [
        ({"epochs": 1.0, "steps": None}, {}, ""),
        ({"epochs": 0.5, "steps": None}, {}, "0.5 epochs"),
        ({"epochs": None, "steps": 2000}, {}, "2,000 steps"),
        ({"epochs": 2.0, "steps": None}, {"fraction": 0.1}, "10% of the text, 2 epochs"),
        ({"epochs": 20.0, "steps": None, "patience": 3}, {}, "until dev text stopped improving"),
    ],
)
def test_another_schedule_than_the_papers_is_said(
    config: dict[str, Any], tuned: dict[str, Any], words: str, tmp_path: Path
) -> None:
    write_model(tmp_path, "one", config=config, finetuned={**TUNED, **tuned})
    assert publish(tmp_path) == 0
    (record,) = read_published(tmp_path / "records").perplexities
    assert describe_schedule(record) == words
    line = "ner on wikigold, text: perplexity 103.25 before, 46.50 after fine-tuning of small"
    assert summarise_perplexities([record]) == line


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ({}, ""),
        ({"best_step": 1350, "stopped": "patience"}, "weights of step 1,350"),
        ({"best_step": 1500, "stopped": "cap"}, "weights of step 1,500, cap met"),
    ],
)
def test_the_step_that_dev_text_chose_is_said(ended: dict[str, Any], words: str, tmp_path: Path) -> None:
    write_model(tmp_path, "one", **ended)
    assert publish(tmp_path) == 0
    (record,) = read_published(tmp_path / "records").perplexities
    assert describe_end(record) == words


def make_run(root: Path, source: str, corpus: str, seed: int = 1) -> Path:
    """A finished run with a file of predictions."""
    own = {"data": {"source": source, "fraction": 1.0}}
    made = make_record("ner", seed, 20, NONE, source=source, corpus=corpus, identity=own)
    directory = root / "runs" / "ner" / f"{made.condition}-s{seed}"
    directory.mkdir(parents=True)
    write_counts(directory / COUNTS, {"test": rows(20)})
    (directory / predictions_file("test")).write_text(source)
    files = {name: hash_file(directory / name) for name in (COUNTS, predictions_file("test"))}
    write_record(directory / RUN_RECORD, made.model_copy(update={"hashes": {**made.hashes, **files}}))
    return directory


@pytest.mark.parametrize("name", [COUNTS, predictions_file("test")])
@pytest.mark.parametrize("damage", [flip, become_directory, become_dangling, become_pipe])
def test_damaged_files_are_named_and_nothing_is_published(
    name: str, damage: Damage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make_run(tmp_path, "sample", "world") / name
    damage(file)
    assert publish(tmp_path) == 1
    problem = "differs from its hash" if damage is flip else "not the file whose hash is"
    assert f"{file}: {problem} in {RUN_RECORD}" in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize("are_named", [False, True])
@pytest.mark.parametrize("name", [RUN_RECORD, COUNTS])
def test_the_runs_beside_a_damaged_one_are_published(
    name: str, are_named: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = (make_run(tmp_path, "sample", "world", seed) for seed in (1, 2, 3))
    truncate(second / name)
    assert publish(tmp_path, *((first, second, third) if are_named else ())) == 1
    printed = capsys.readouterr()
    assert "2 new, 0 there already" in printed.out
    assert str(second / name) in printed.err
    assert "1 damaged, not published" in printed.err
    assert {run.seed for run in read_published(tmp_path / "records").runs} == {1, 3}


def test_a_command_that_was_killed_before_the_record_copies_again(tmp_path: Path) -> None:
    make_run(tmp_path, "sample", "world")
    assert publish(tmp_path) == 0
    written = sorted((tmp_path / "records" / "ner").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert written[-1].suffix == ".json"
    for path in written[1:]:
        path.unlink()
    assert publish(tmp_path) == 0
    assert set(written) == set((tmp_path / "records" / "ner").iterdir())


def test_a_link_to_nowhere_in_a_records_place_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = make_run(tmp_path, "sample", "world") / RUN_RECORD
    become_dangling(record)
    assert publish(tmp_path) == 1
    assert f"{record}: not a record" in capsys.readouterr().err


def test_a_damaged_run_that_was_repeated_is_published(tmp_path: Path) -> None:
    """A damaged record is refused with force=true as its remedy, which keeps the old directory as NAME.1."""
    old = make_run(tmp_path, "sample", "world")
    flip(old / RUN_RECORD)
    old.rename(old.with_name(f"{old.name}.1"))
    make_run(tmp_path, "sample", "world")
    assert publish(tmp_path) == 0
    assert len(read_published(tmp_path / "records").runs) == 1


@pytest.mark.parametrize("damage", [flip, become_directory, become_dangling])
def test_what_stands_in_the_place_of_published_predictions_is_named(tmp_path: Path, damage: Damage) -> None:
    make_run(tmp_path, "sample", "world")
    assert publish(tmp_path) == 0
    (run,) = read_published(tmp_path / "records").runs
    assert find_strange_predictions(run, "test", tmp_path / "runs") == []
    (predictions,) = (tmp_path / "records").rglob("*.jsonl")
    damage(predictions)
    (problem,) = find_strange_predictions(run, "test", tmp_path / "runs")
    assert problem.startswith(f"{predictions}: not the predictions of its record")


def test_predictions_are_published_for_the_generated_world_alone(tmp_path: Path) -> None:
    for source, corpus in (("sample", "world"), ("open", "wikigold")):
        make_run(tmp_path, source, corpus)
    assert publish(tmp_path) == 0
    (kept,) = (tmp_path / "records").rglob("*.jsonl")
    assert kept.read_text() == "sample"
    assert kept.name.endswith("-s1.predictions-test.jsonl")


def test_no_path_of_the_machine_is_published(tmp_path: Path) -> None:
    result = make_run(tmp_path, "open", "wikigold") / RUN_RECORD
    record = read_record(result)
    words = {"kind": "file", "file": str(tmp_path / "data" / ".." / "vectors" / "glove.txt.gz")}
    own = {"train": ["/home/me/train.conll", "/home/me/more.conll"], "dev": "sources/dev.conll"}
    config = {**record.config, "words": words, "data": own, "paths": {"data": "/home/me"}}
    write_record(result, record.model_copy(update={"config": config}))
    assert publish(tmp_path) == 0
    (path,) = (tmp_path / "records").rglob("*.json")
    published = read_record(path)
    assert published.config["words"]["file"] == "glove.txt.gz"
    assert published.config["data"] == {"train": ["train.conll", "more.conll"], "dev": "sources/dev.conll"}
    assert str(tmp_path) not in path.read_text() and "/home" not in path.read_text()
