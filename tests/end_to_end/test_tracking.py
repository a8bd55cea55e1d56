"""W&B without an account: an offline run beside the record, and the same result as without it."""

from __future__ import annotations

from pathlib import Path

from elmo_bench.records import read_record
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
    for text in (
        f"ner-{tracked.condition}",
        "baseline",
        "size:sample",
        "trial/ner/sample/world/dev/score",
        "trial/ner/sample/world/dev",
        "test/score",
    ):
        assert text.encode() in told

    code, _, errors = finish(*RUN, f"paths.runs={tmp_path / 'untracked'}", *places(tmp_path)[1:])
    assert code == 0, errors
    (result,) = (tmp_path / "untracked").glob("ner/*/result.json")
    untracked = read_record(result)
    assert untracked.condition == tracked.condition
    assert untracked.scores == tracked.scores
    assert untracked.hashes == tracked.hashes
