"""predict and ensemble: a finished run says again what it said, and says it of new files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from elmo_bench.hashing import SEAL, hash_file
from elmo_bench.plugins import load_task
from elmo_bench.records import (
    EnsembleRecord,
    Record,
    read_content,
    read_counts,
    read_record,
    read_record_of,
    write_record,
)
from elmo_bench.report.published import read_published
from elmo_bench.runs.execution import run_job
from elmo_bench.sources import prepare
from tests.support.caches import copy_cache
from tests.support.composition import run_config
from tests.support.processes import places

TINY = ("bilm@encoder.bilm=tiny", "trainer.threads=1", "tracking=off")


@pytest.fixture(scope="module")
def root(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_cache(sample, tmp_path_factory.mktemp("prediction"))


def finished(root: Path, *overrides: str) -> Path:
    """The directory of a run with these overrides."""
    return run_job(run_config(*overrides, *TINY, root=root), lambda message: None).directory


@pytest.fixture(scope="module")
def pos_runs(root: Path) -> list[Path]:
    return [finished(root, "task=pos", "task.training.epochs=2", f"seed={seed}") for seed in (1, 2)]


@pytest.fixture(scope="module")
def ner_run(root: Path) -> Path:
    return finished(root, "task=ner", "task.training.epochs=1")


def own_test_file(directory: Path) -> Path:
    """The run's own test file."""
    config = run_config(f"task={directory.parent.name}", root=directory.parents[2])
    return prepare(config.task, config.data, config.paths, print).files["test"].paths[0]


def predict(run: Path, *words: str) -> int:
    """The command on a run, with the paths that it was made with."""
    return main(["predict", str(run), *words, *places_of(run)])


def ensemble(runs: Sequence[Path], *words: str) -> int:
    return main(["ensemble", *map(str, runs), *words, *places_of(runs[0])])


def places_of(run: Path) -> list[str]:
    return places(run.parents[2])


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_its_own_test_file_gives_its_own_predictions(
    ner_run: Path, pos_runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for directory in (ner_run, pos_runs[0]):
        target = tmp_path / f"{directory.name}.jsonl"
        assert predict(directory, str(own_test_file(directory)), "--output", str(target)) == 0
        assert target.read_bytes() == (directory / "predictions-test.jsonl").read_bytes()
        record = read_record(directory / "result.json")
        score = record.scores["test"][record.metric]
        assert f"{record.metric} {score:.2f} against the labels" in capsys.readouterr().err


def test_no_file_is_replaced_but_a_command_may_be_repeated(
    ner_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, link, target = tmp_path / "in.conll", tmp_path / "link", tmp_path / "out.jsonl"
    shutil.copyfile(own_test_file(ner_run), own)
    link.symlink_to("nowhere")
    before = own.read_bytes()
    for taken in (own, link, tmp_path):
        assert predict(ner_run, str(own), "--output", str(taken)) == 2
        refusal = f"error: --output {taken}: expected a new file, got one that exists already, with other"
        assert refusal in capsys.readouterr().err
    assert own.read_bytes() == before and link.is_symlink()
    for _ in range(2):
        assert predict(ner_run, str(own), "--output", str(target)) == 0
    assert target.read_bytes() == (ner_run / "predictions-test.jsonl").read_bytes()


@pytest.mark.parametrize("nearest", ["mean", "token"])
def test_a_probe_is_brought_back_even_from_before_its_newest_settings(
    nearest: str, root: Path, tmp_path: Path
) -> None:
    directory = finished(root, "task=wsd", f"task.settings.head.nearest={nearest}")
    config = run_config("task=wsd", root=root)
    files = prepare(config.task, config.data, config.paths, print).files["test"].paths
    result, target = directory / "result.json", tmp_path / "out.jsonl"
    assert config.task.captions["head.nearest"][nearest] in (read_record(result).notes or [])
    if nearest == "mean":
        record = json.loads(result.read_text())
        del record["sha256"]  # there were no seals then
        del record["config"]["task"]["settings"]["candidates"], record["config"]["task"]["as_before"]
        del record["config"]["task"]["settings"]["head"]["nearest"]
        result.write_text(json.dumps(record))
    assert predict(directory, *map(str, files), "--output", str(target)) == 0
    assert target.read_bytes() == (directory / "predictions-test.jsonl").read_bytes()


def test_plain_text_is_tagged(ner_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Ada Lovelace visited Paris .\n\nIt rained .\n")
    assert predict(ner_run, str(text), "--text", "--words") == 0
    printed = capsys.readouterr()
    first, second = map(json.loads, printed.out.splitlines())
    assert first["sentences"] == {"text": [["Ada", "Lovelace", "visited", "Paris", "."]]}
    assert len(first["prediction"]) == 5
    assert (second["id"], len(second["prediction"])) == ("test-2", 3)
    assert f"{text}: note: 1 line has no tokens, and no prediction\n" in printed.err
    assert "against" not in printed.err  # there is no gold to be measured against


@pytest.mark.parametrize(("kind", "metric"), [("ner", "f1"), ("pos", "accuracy")])
def test_the_conventional_file_scores_as_the_run_did(
    kind: str,
    metric: str,
    ner_run: Path,
    pos_runs: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    directory = {"ner": ner_run, "pos": pos_runs[0]}[kind]
    target = tmp_path / "tagged.txt"
    words = [str(own_test_file(directory)), "--conventional", "--output", str(target)]
    assert predict(directory, *words) == 0
    capsys.readouterr()
    assert main(["score", {"pos": "accuracy"}.get(kind, kind), str(target)]) == 0
    scored = json.loads(capsys.readouterr().out)
    record = read_record(directory / "result.json")
    assert scored[metric] == pytest.approx(record.scores["test"][record.metric], abs=0.005)


def test_a_run_whose_data_have_changed_is_refused(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / split).write_text("Ada B-PER\nsang O\n\nBob B-PER\nslept O\n")
    files = [f"data.{split}={tmp_path / split}" for split in ("train", "dev", "test")]
    directory = finished(
        root, "task=ner", "data=files", "words=random", "encoder=sample", "elmo=none", *files
    )
    assert predict(directory, str(tmp_path / "test")) == 0
    (tmp_path / "train").write_text("Eve B-PER\nsang O\n\nBob B-PER\nslept O\n")
    assert predict(directory, str(tmp_path / "test")) == 2
    assert "its data files have changed" in capsys.readouterr().err


def test_damaged_weights_are_refused(
    ner_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / ner_run.name
    shutil.copytree(ner_run, copy)
    weights = bytearray((copy / "head.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "head.safetensors").write_bytes(weights)
    assert main(["predict", str(copy), str(own_test_file(ner_run)), *places_of(ner_run)]) == 1
    assert "changed after the run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["no-such-run", "file"], 3, "expected the directory of a finished run"),
        (["RUN", "no-such-file"], 3, "no-such-file: no such file"),
        (["RUN", "FILE", "--format", "xml"], 2, "format=xml"),
        (["RUN", "FILE", "paths.date=/tmp"], 2, "there is no such key; did you mean 'paths.data'?"),
        (["RUN", "FILE", "seed=2"], 2, "seed: there is no such key"),
    ],
)
def test_what_is_not_there_is_named(
    words: list[str], code: int, message: str, pos_runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"RUN": str(pos_runs[0]), "FILE": str(own_test_file(pos_runs[0]))}
    assert main(["predict", *(own.get(word, word) for word in words), *places_of(pos_runs[0])]) == code
    assert message in capsys.readouterr().err


def test_an_ensemble_is_scored_beside_its_members(
    pos_runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ensemble(pos_runs, "--output", str(tmp_path)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["accuracy", "dev", "test"]
    for directory, line in zip(pos_runs, lines[1:3], strict=True):
        scores = read_record(directory / "result.json").scores
        assert line.split()[1:] == [f"{scores[split]['accuracy']:.2f}" for split in ("dev", "test")]
    assert lines[3].startswith("ensemble")
    assert len(rows(tmp_path / "predictions-test.jsonl")) == len(rows(pos_runs[0] / "predictions-test.jsonl"))


def test_the_record_of_an_ensemble_is_its_members_counts_and_scores(
    pos_runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ensemble(pos_runs) == 0
    printed = capsys.readouterr().out.splitlines()
    (path,) = pos_runs[0].parent.glob("ensemble-*/ensemble.json")
    record = read_record_of(EnsembleRecord, path)
    runs = [read_record(directory / "result.json") for directory in pos_runs]
    assert path.parent.name == f"ensemble-{record.name}"
    assert [(member.condition, member.seed) for member in record.members] == [
        (run.condition, run.seed) for run in runs
    ]
    for member, run in zip(record.members, runs, strict=True):
        for split in ("dev", "test"):
            assert member.scores[split] == pytest.approx(run.scores[split])
    assert record.condition == runs[0].condition
    assert printed[3].split() == [
        "ensemble",
        *(f"{record.scores[s]['accuracy']:.2f}" for s in ("dev", "test")),
    ]
    task = load_task(run_config("task=pos").task)
    counts = read_counts(path.parent / "counts.npz")
    for split, found in counts.items():
        assert task.score(list(found.rows())) == record.scores[split]
        assert len(found) == record.examples[split]
    for name in ("counts.npz", "predictions-dev.jsonl", "predictions-test.jsonl"):
        assert record.hashes[name] == hash_file(path.parent / name)
    again = ensemble(pos_runs[::-1])
    assert again == 0 and list(pos_runs[0].parent.glob("ensemble-*")) == [path.parent]


def test_an_ensemble_is_published_with_its_counts(pos_runs: list[Path], tmp_path: Path) -> None:
    source = tmp_path / "source"
    assert ensemble(pos_runs, "--output", str(source)) == 0
    assert main(["publish", str(source), f"paths.records={tmp_path}/records"]) == 0
    (path,) = (tmp_path / "records" / "pos").glob("ensemble-*.json")
    assert read_published(tmp_path / "records").ensembles == (
        read_record_of(EnsembleRecord, source / "ensemble.json"),
    )
    assert path.with_suffix(".npz").read_bytes() == (source / "counts.npz").read_bytes()
    (source / "counts.npz").write_bytes(b"other")
    assert main(["publish", str(source), f"paths.records={tmp_path / 'other'}"]) == 1


def test_an_ensemble_replaces_an_earlier_one_alone(
    pos_runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out, file = tmp_path / "run", tmp_path / "out", tmp_path / "file"
    shutil.copytree(pos_runs[0], run)
    file.write_text("mine")
    before = {path.name: hash_file(path) for path in run.iterdir() if path.is_file()}
    assert ensemble(pos_runs, "--output", str(run)) == 2
    refusal = "expected a new directory or one that an ensemble was written to, got one that holds"
    assert f"{run}: {refusal}" in capsys.readouterr().err
    assert {path.name: hash_file(path) for path in run.iterdir() if path.is_file()} == before
    assert ensemble(pos_runs, "--output", str(file)) == 2
    assert f"{file}: expected a directory, got something else" in capsys.readouterr().err
    for _ in range(2):
        assert ensemble(pos_runs, "--output", str(out)) == 0
    (out / "ensemble.json").unlink()  # the predictions could be anybody's
    assert ensemble(pos_runs, "--output", str(out)) == 2
    assert f"{out}: {refusal} counts.npz; choose another --output or remove it" in capsys.readouterr().err


def test_an_ensemble_of_a_run_and_its_twin_is_that_run(
    pos_runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = tmp_path / "twin"
    shutil.copytree(pos_runs[0], twin)
    assert ensemble([pos_runs[0], twin], "--output", str(tmp_path / "out")) == 0
    assert rows(tmp_path / "out" / "predictions-test.jsonl") == rows(pos_runs[0] / "predictions-test.jsonl")
    assert main(["publish", str(tmp_path / "out"), f"paths.records={tmp_path}"]) == 2
    assert "an ensemble that has one run twice" in capsys.readouterr().err


def test_what_has_no_mean_is_refused(
    ner_run: Path, pos_runs: list[Path], root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = finished(root, "task=ner", "task.training.epochs=1", "seed=2")
    assert ensemble([ner_run, other]) == 2
    assert "NerHead gives no probabilities to average" in capsys.readouterr().err
    assert ensemble([pos_runs[0], ner_run]) == 2
    assert "the task differs from" in capsys.readouterr().err
    assert ensemble(pos_runs[:1]) == 2
    assert "two different runs or more" in capsys.readouterr().err


def test_a_record_s_own_paths_are_not_used(ner_run: Path, tmp_path: Path) -> None:
    """A record may come from a stranger: where it was made is nothing to this installation."""
    stranger, elsewhere = tmp_path / "stranger", tmp_path / "elsewhere"
    shutil.copytree(ner_run, stranger)
    rewrite(stranger, lambda config: config["paths"].update(dict.fromkeys(config["paths"], str(elsewhere))))
    target = tmp_path / "out.jsonl"
    words = [str(stranger), str(own_test_file(ner_run)), "--output", str(target), *places_of(ner_run)]
    assert main(["predict", *words]) == 0
    assert target.read_bytes() == (ner_run / "predictions-test.jsonl").read_bytes()
    assert not elsewhere.exists()


@pytest.mark.parametrize(
    "key", ["data.train", "words.file", "encoder.directory", "task.sources.sample.ner.train"]
)
@pytest.mark.parametrize("where", ["absolute", "../../outside"])
def test_a_stranger_s_record_cannot_name_a_file_elsewhere(
    key: str, where: str, ner_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = tmp_path / "stranger"
    shutil.copytree(ner_run, stranger)
    value = str(tmp_path / "secret") if where == "absolute" else where
    rewrite(stranger, lambda config: set_value(config, key, value))
    words = [str(stranger), str(own_test_file(ner_run)), *places_of(ner_run)]
    assert main(["predict", *words]) == 2
    assert f"names a file outside of this installation's paths ({key}={value})" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["task.name", "encoder.name"])
def test_a_name_in_a_record_leads_nowhere(
    key: str, ner_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = tmp_path / "stranger"
    shutil.copytree(ner_run, stranger)
    rewrite(stranger, lambda config: set_value(config, key, "x/y"))
    assert main(["predict", str(stranger), str(own_test_file(ner_run)), *places_of(ner_run)]) == 2
    assert f"the run's config.{key}: string should match pattern" in capsys.readouterr().err


def rewrite(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the configuration in a run's record, and seal it again, as anybody can."""
    content = read_content(run / "result.json")
    change(content["config"])
    del content[SEAL]
    write_record(run / "result.json", Record.model_validate(content))


def set_value(config: dict[str, Any], key: str, value: str) -> None:
    *outer, last = key.split(".")
    for name in outer:
        config = config.setdefault(name, {})
    config[last] = value
