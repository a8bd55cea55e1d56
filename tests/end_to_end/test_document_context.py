"""A run whose encoder reads whole documents: trained, stopped, resumed, restored, and told apart."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from elmo_bench.conditions import describe_condition
from elmo_bench.config import RunConfig
from elmo_bench.records import read_record
from elmo_bench.runs import fitting
from elmo_bench.runs.execution import run_job
from elmo_bench.sources import prepare
from elmo_bench.types import InterruptedRunError, UsageError
from tests.support.composition import run_config

RUN = (
    "task=ner",
    "limit=24",
    "task.training.epochs=3",
    "task.training.batch_size=8",
    "task.training.evaluate_every=null",
    "trainer.checkpoint_seconds=0",
)
TINY = ("encoder=sample", "bilm@encoder.bilm=tiny", "trainer.threads=1", "tracking=off")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents")


def configured(root: Path, *overrides: str, runs: str = "runs") -> RunConfig:
    """A run whose directory is below `runs`, and whose world, encoder and store are shared by this file."""
    config = run_config(*overrides, *TINY, root=root)
    return config.model_copy(update={"paths": config.paths.model_copy(update={"runs": root / runs})})


def finished(config: RunConfig) -> Path:
    """The directory of the finished run."""
    return run_job(config, lambda message: None).directory


@pytest.fixture(scope="module")
def run(root: Path) -> Path:
    return finished(configured(root, *RUN, "encoder.context=document"))


def results_of(directory: Path) -> dict[str, Any]:
    record = json.loads((directory / "result.json").read_text())
    return {key: record[key] for key in ("scores", "curve", "learnt", "condition")}


def test_it_is_another_run_than_without_documents(run: Path, root: Path) -> None:
    alone = read_record(finished(configured(root, *RUN)) / "result.json")
    record = read_record(run / "result.json")
    assert record.identity["elmo"].pop("encoder_context") == "document"
    assert record.identity == alone.identity
    assert record.condition != alone.condition
    assert record.curve != alone.curve
    assert "context document" in describe_condition(read_record(run / "result.json"))


def test_a_store_that_computes_gives_the_same(run: Path, root: Path) -> None:
    config = configured(root, *RUN, "encoder.context=document", "store.mode=off", runs="computed")
    again = finished(config)
    assert again != run
    assert results_of(again) == results_of(run)


def test_it_is_resumed_and_its_time_is_that_of_all_sessions(
    run: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configured(root, *RUN, "encoder.context=document", runs="stopped")
    hours: list[float] = []  # that pass in the first epoch
    monkeypatch.setattr(fitting.time, "monotonic", lambda: time.perf_counter() + 3600 * sum(hours))

    def stop(message: str) -> None:
        if message.startswith("epoch") and not hours:
            hours.append(5)
        elif message.startswith("epoch"):
            raise InterruptedRunError("stopped")

    said: list[str] = []
    with pytest.raises(InterruptedRunError):
        run_job(config, stop)
    resumed = run_job(config, said.append)
    assert results_of(resumed.directory) == results_of(run)
    assert any("resuming from" in message for message in said)
    assert 5 * 3600 < resumed.record.seconds["fitting"] < 6 * 3600


def test_a_file_is_predicted_with_its_documents_or_not_at_all(
    run: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = run_config(*RUN, root=root)
    (own,) = prepare(config.task, config.data, config.paths, print).files["test"].paths
    target = tmp_path / "out.jsonl"
    assert main(["predict", str(run), str(own), "--output", str(target)]) == 0
    first = (run / "predictions-test.jsonl").read_text().splitlines()
    assert target.read_text().splitlines()[: len(first)] == first

    bare = tmp_path / "bare.conll"
    bare.write_text("Ann B-PER\nsings O\n")
    assert main(["predict", str(run), str(bare), "--output", str(target)]) == UsageError.exit_code
    assert "bare.conll (test) does not name its documents" in capsys.readouterr().err


def test_a_corpus_without_documents_is_refused(root: Path) -> None:
    with pytest.raises(UsageError, match=r"world \(train\) does not name its documents.*pos/ewt"):
        finished(configured(root, "task=pos", "limit=24", "encoder.context=document"))
