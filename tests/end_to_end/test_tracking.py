"""W&B without an account: an offline run beside the record, and the same result as without it."""

from __future__ import annotations

from pathlib import Path

from elmo_bench.catalog import list_tables
from elmo_bench.dashboard.plan import plan_dashboard
from elmo_bench.records import read_record
from elmo_bench.report.series import row_scores
from tests.support.caches import copy_cache
from tests.support.processes import finish, places

RUN = ("task=ner", "elmo=none", "limit=12", "task.training.epochs=2", "trainer.threads=1")


def test_an_offline_run_changes_nothing(world: Path, tmp_path: Path) -> None:
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

    code, _, errors = finish(*RUN, f"paths.runs={tmp_path / 'untracked'}", *places(tmp_path)[1:])
    assert code == 0, errors
    (result,) = (tmp_path / "untracked").glob("ner/*/result.json")
    untracked = read_record(result)
    assert untracked.condition == tracked.condition
    assert untracked.scores == tracked.scores
    assert untracked.hashes == tracked.hashes
