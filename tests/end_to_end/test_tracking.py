"""Trackers without an account: their files beside the record, and the same result as without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from elmo_bench.catalog import list_tables
from elmo_bench.dashboard.plan import plan_dashboard
from elmo_bench.records import Record, read_record
from elmo_bench.report.series import row_scores
from elmo_bench.runs import execution
from elmo_bench.runs.execution import run_job
from tests.support.caches import copy_cache
from tests.support.composition import run_config
from tests.support.processes import finish, places

RUN = ("task=ner", "elmo=none", "limit=12", "task.training.epochs=2", "trainer.threads=1")


def test_an_offline_run_changes_nothing(world: Path, tmp_path: Path, untracked: Record) -> None:
    copy_cache(world, tmp_path)
    code, output, errors = finish(*RUN, "tracking=wandb", *places(tmp_path))
    assert code == 0, errors
    assert "warning" not in output + errors
    (result,) = (tmp_path / "runs").glob("ner/*/result.json")
    (log,) = result.parent.glob("wandb/offline-run-*/run-*.wandb")
    tracked = read_record(result)
    told = log.read_bytes()  # the records of the log hold text as it is
    place = "trial/ner/sample/world"
    names = (f"{place}/dev", f"{place}/dev/score", f"{place}/test/score")
    for text in (f"ner-{tracked.condition}", "baseline", "size:sample", *names):
        assert text.encode() in told
    # What the dashboard draws of such a run is there under the very names of its specification.
    sections = plan_dashboard(list_tables(), "sample", {"ner": ("world",)})
    drawn = {f"trial/{name}" for section in sections for panel in section.panels for name in panel.metrics}
    rows = row_scores(tracked, list_tables())
    assert rows.keys() <= drawn and f"{place}/table1/baseline" in rows
    assert {f"{place}/dev", f"{place}/loss"} <= drawn
    assert [name for name in (*rows, f"{place}/loss") if name.encode() not in told] == []
    assert_same_numbers(tracked, untracked)


def test_event_files_are_what_tensorboard_reads(world: Path, tmp_path: Path, untracked: Record) -> None:
    copy_cache(world, tmp_path)
    code, output, errors = finish(*RUN, "tracking=tensorboard", *places(tmp_path))
    assert code == 0, errors
    assert "warning" not in (output + errors).lower()
    (result,) = (tmp_path / "runs").glob("ner/*/result.json")
    tracked = read_record(result)
    events = EventAccumulator(str(result.parent / "tensorboard"))
    events.Reload()
    scope = "trial/ner/sample/world"
    curve = [(scalar.step, scalar.value) for scalar in events.Scalars(f"{scope}/dev")]
    assert curve and curve == [(row["step"], pytest.approx(row["dev"])) for row in tracked.curve]
    (score,) = events.Scalars(f"{scope}/test/score")
    assert score.value == pytest.approx(tracked.scores["test"][tracked.metric])
    assert_same_numbers(tracked, untracked)


def test_the_tracker_is_told_the_end_before_the_run_counts_as_done(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a run that is killed in between is done, and nobody tells the tracker any more."""

    def stop(*_: object) -> None:
        raise RuntimeError("killed")

    root = copy_cache(world, tmp_path)
    monkeypatch.setattr(execution, "write_record", stop)
    with pytest.raises(RuntimeError, match="killed"):
        run_job(run_config(*RUN, "tracking=csv", root=root), lambda message: None)
    (metrics,) = root.glob("runs/ner/*/csv/metrics.csv")
    assert "trial/ner/sample/world/test/score" in metrics.read_text()


@pytest.fixture(scope="module")
def untracked(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """The record of the same run without a tracker."""
    root = tmp_path_factory.mktemp("untracked")
    copy_cache(world, root)
    code, _, errors = finish(*RUN, *places(root))
    assert code == 0, errors
    (result,) = (root / "runs").glob("ner/*/result.json")
    return read_record(result)


def assert_same_numbers(tracked: Record, untracked: Record) -> None:
    """A tracker changes no number of a run, no file that the record hashes, and no package it lists."""
    assert untracked.condition == tracked.condition
    assert untracked.scores == tracked.scores
    assert untracked.hashes == tracked.hashes
    assert untracked.environment["versions"] == tracked.environment["versions"]
