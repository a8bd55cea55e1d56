"""An installed package brings a task, an encoder and an experiment by entry points."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from elmo_bench.conditions import is_baseline
from elmo_bench.records import read_record
from elmo_bench.runs import fitting
from elmo_bench.sweep.scripts import launch_runs
from tests.support.extensions import fresh_process, install_package, write_extensions

Output = pytest.CaptureFixture[str]
WORDS = ("paths.data=mine/data", "trainer.threads=1", "encoder=bert", "size=quick")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sweep of the package's experiment, published; the package is all that is known."""
    root = tmp_path_factory.mktemp("package")
    write_extensions(root)
    install_package(root)
    with fresh_process(root, root / "installed"):
        assert launch_runs("", ["-m", "+experiment=moods", *WORDS, "seed=1"]) == 0
        assert main(["publish"]) == 0
    return root


@pytest.fixture(autouse=True)
def outside(root: Path) -> Iterator[None]:
    """Every test begins as a new process next to the package."""
    with fresh_process(root, root / "installed"):
        yield


def runs(root: Path) -> dict[bool, Path]:
    found = (root / "results" / "runs" / "mood").glob("*/result.json")
    return {is_baseline(read_record(path)): path.parent for path in sorted(found)}


def test_it_runs_with_and_without_elmo_and_is_compared(root: Path, capsys: Output) -> None:
    found = runs(root)
    assert read_record(found[False] / "result.json").config["task"]["plugin"] == "moods.mood.MoodTask"
    assert main(["compare", str(found[True]), str(found[False])]) == 0
    assert "ELMo (bert) at input" in capsys.readouterr().out


def test_it_is_in_the_report_with_its_baseline(tmp_path: Path) -> None:
    assert main(["report", "--resamples", "100", "--output", str(tmp_path)]) == 0
    with (tmp_path / "tables.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for cell in csv.DictReader(file) if cell["table"] == "moods"]
    gains = {cell["system"]: cell["value"] for cell in cells if cell["column"] == "Gain"}
    assert gains["'+ ELMo"] and gains["last layer only"]
    assert "baseline" not in gains and "baseline" in {cell["system"] for cell in cells}


def test_it_is_in_the_dashboard(tmp_path: Path, capsys: Output) -> None:
    assert (
        main(["dashboard", "--source", "open", "--offline", "--output", str(tmp_path / "dashboard.json")])
        == 0
    )
    assert "Moods: which layers  (mood)" in capsys.readouterr().out


def test_a_finished_run_is_restored(root: Path, tmp_path: Path) -> None:
    run, target = runs(root)[False], tmp_path / "predictions.jsonl"
    words = [str(run), "mine/data/mood/test.tsv", "--output", str(target), "paths.data=mine/data"]
    assert main(["predict", *words]) == 0
    assert target.read_bytes() == (run / "predictions-test.jsonl").read_bytes()


def test_an_interrupted_run_resumes(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Output
) -> None:
    words = ["task=mood", "data=open", *WORDS, f"paths.runs={tmp_path}"]
    save = fitting.CheckpointDirectory.save

    def save_and_stop(self: fitting.CheckpointDirectory, *arguments: Any) -> None:
        save(self, *arguments)
        raise OSError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(fitting.CheckpointDirectory, "save", save_and_stop)
        assert launch_runs("", words) == 1
    assert launch_runs("", words) == 0
    output = capfd.readouterr().out
    assert "step-" in output and "next:   python run.py task=mood" in output
    (resumed,) = tmp_path.glob("mood/*/result.json")
    whole = root / "results" / "runs" / "mood" / resumed.parent.name / "result.json"
    assert read_record(resumed).hashes == read_record(whole).hashes


def test_a_name_of_the_package_cannot_be_used_again(root: Path, capsys: Output) -> None:
    assert main(["tasks", "--config-dir", "mine"]) == 2
    assert "bert.yaml has this name already; choose another one" in capsys.readouterr().err


def test_a_package_without_configuration_is_named(tmp_path: Path, capsys: Output) -> None:
    write_extensions(tmp_path)
    installed = install_package(tmp_path)
    (installed / "moods" / "conf").rename(tmp_path / "conf")
    with fresh_process(tmp_path, installed):
        assert main(["tasks"]) == 2
    assert "expected a package moods with a directory conf; correct or uninstall moods" in (
        capsys.readouterr().err
    )
