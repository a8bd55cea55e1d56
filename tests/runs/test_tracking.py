"""A tracker may fail at any moment; the run does not."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.config import TrackingConfig
from elmo_bench.records import read_record
from elmo_bench.runs import tracking
from elmo_bench.runs.replaying import read_finished, replay
from elmo_bench.runs.tracked import Tracked, describe_run, label_run, name_row
from elmo_bench.runs.tracking import (
    NoTracker,
    RunLabel,
    SafeTracker,
    build_tracker,
    has_wandb_key,
    join_sweep,
)
from tests.conftest import PROJECT
from tests.support.composition import run_config


class Breaking:
    """Works until the given call, then raises at each."""

    def __init__(self, breaks_at: str) -> None:
        self.breaks_at = breaks_at
        self.calls: list[str] = []

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if call == self.breaks_at:
            raise RuntimeError("no network")

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None:
        self._note("start")

    def log(self, values: Mapping[str, float]) -> None:
        self._note("log")

    def finish(self, summary: Mapping[str, Any]) -> None:
        self._note("finish")


@pytest.mark.parametrize("moment", ["start", "log", "finish"])
def test_a_failing_tracker_is_left_alone_after_one_warning(moment: str) -> None:
    said: list[str] = []
    broken = Breaking(moment)
    tracker = SafeTracker(broken, said.append)
    tracker.start(RunLabel("name", "group", ()), {})
    tracker.log({"dev": 1.0})
    tracker.finish({})
    assert broken.calls[-1] == moment
    assert said == ["warning: tracking failed and is off for this run: no network"]


def test_no_tracker_is_the_default(tmp_path: Path) -> None:
    assert isinstance(build_tracker(TrackingConfig(kind="off"), tmp_path, print), NoTracker)


def test_a_key_is_looked_for_where_wandb_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    netrc = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(netrc))
    assert not has_wandb_key()
    netrc.write_text("machine api.wandb.ai login user password secret\n")
    assert has_wandb_key()
    netrc.unlink()
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    assert has_wandb_key()


def test_a_tracked_configuration_has_no_directory_of_the_machine(tmp_path: Path) -> None:
    words = ["task=ner", f"encoder.directory={tmp_path / 'elmo'}", f"words.file={tmp_path / 'glove.txt'}"]
    config = run_config(*words, "encoder=model", "words=glove", root=tmp_path)
    told = describe_run(Tracked(config, "c" * 12, "open", "wikigold", "f1", "model elmo", "f" * 64))
    assert str(tmp_path) not in json.dumps(told)
    assert told["encoder"]["directory"] == "elmo"
    assert (told["task_name"], told["corpus"]) == ("ner", "wikigold")


def test_runs_of_a_sweep_have_its_name_and_that_of_its_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "_shared_directory", None)
    monkeypatch.setattr(tracking, "_experiment", None)
    run = Tracked(run_config("task=ner", "elmo=none"), "c" * 12, "sample", "world", "f1", None, None)
    assert not {"sweep", "experiment"} & describe_run(run).keys()
    join_sweep(tmp_path / "20180601-120000-17", "table1")
    assert describe_run(run)["sweep"] == "20180601-120000-17"
    assert {"sweep:20180601-120000-17", "experiment:table1"} <= set(label_run(run).tags)


def test_trial_runs_have_names_of_their_own() -> None:
    usual, trial = (
        Tracked(run_config("task=ner", *words), "c" * 12, "sample", "world", "f1", None, None)
        for words in ((), ("limit=5",))
    )
    assert name_row(usual, {"epoch": 1.0, "dev": 2.0}) == {"epoch": 1.0, "ner/sample/world/dev": 2.0}
    assert name_row(trial, {"dev": 2.0}) == {"trial/ner/sample/world/dev": 2.0}


def test_a_local_tracker_writes_files_of_its_kind(tmp_path: Path) -> None:
    for _ in range(2):  # a resumed run tells everything again
        tracker = build_tracker(TrackingConfig(kind="csv"), tmp_path, print)
        tracker.start(RunLabel("a run", "group", ()), {"seed": 17})
        for step in (3, 6):
            tracker.log({"epoch": step / 3, "step": float(step), "dev": 10.0 * step})
        tracker.finish({"test/score": 90.0, "best_epoch": None})
        tracker.close()
    with (tmp_path / "csv" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["dev"] for row in rows if row["dev"]] == ["30.0", "60.0"]
    assert rows[-1]["test/score"] == "90.0"
    assert "seed: 17" in (tmp_path / "csv" / "hparams.yaml").read_text()


@pytest.mark.parametrize("place", ["directory", "record"])
def test_a_finished_run_is_told_from_its_beginning(place: str, tmp_path: Path) -> None:
    published = sorted((PROJECT / "results" / "records" / "ner").glob("*-s1.json"))[0]
    path = published
    if place == "directory":
        path = tmp_path / "run"
        path.mkdir()
        shutil.copy(published, path / "result.json")
    record = read_record(published)
    finished = read_finished(path, run_config("task=ner", root=tmp_path).paths)
    told: list[Any] = []

    class Listening(NoTracker):
        def start(self, label: RunLabel, config: Mapping[str, Any]) -> None:
            told.extend([label, config])

        def log(self, values: Mapping[str, float]) -> None:
            told.append(values)

        def finish(self, summary: Mapping[str, Any]) -> None:
            told.append(summary)

    replay(finished, Listening())
    label, config, *rows, summary = told
    assert label.id == f"ner-{record.condition}-s1"
    assert (config["condition"], config["sent"]) == (record.condition, "later")
    scope = f"ner/{record.source}/{record.corpus}"
    assert [row[f"{scope}/dev"] for row in rows] == [row["dev"] for row in record.curve]
    assert summary[f"{scope}/test/score"] == record.scores["test"][record.metric]
