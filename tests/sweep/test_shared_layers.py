"""What the runs of a sweep store for each other."""

from __future__ import annotations

import pytest

from elmo_bench.sweep.runs import share_layers
from tests.support.composition import run_config


def share(*jobs: str) -> list[list[str]]:
    return share_layers([run_config("task=ner", *job.split()) for job in jobs])


@pytest.mark.parametrize(
    ("jobs", "stored"),
    [
        (("elmo.layers=0", "elmo.layers=2"), "[0,2]"),
        (("elmo.layers=0", "elmo=last"), "[0,last]"),
        (("elmo.layers=0", "encoder.layers=[0,2] elmo=last"), "[0,2]"),
        (("elmo.layers=0", "encoder.layers=[0,1]"), "[0,1]"),
        (("elmo.layers=0", "elmo.layers=1", "seed=2"), "all"),
    ],
)
def test_a_run_also_stores_what_the_others_read(jobs: tuple[str, ...], stored: str) -> None:
    assert share(*jobs)[0] == [f"store.layers={stored}"]


@pytest.mark.parametrize(
    "jobs",
    [
        ("elmo.layers=0", "elmo.layers=0 seed=2", "elmo=none"),
        ("elmo.layers=0", "elmo.layers=1 encoder=untrained"),
        ("elmo.layers=0", "elmo.layers=1 limit=10"),
        ("elmo.layers=0", "elmo.layers=1 store.dtype=float32"),
        ("elmo.layers=0 store.layers=[2]", "elmo.layers=1 store.layers=all"),
    ],
)
def test_nothing_is_added_where_nothing_is_shared_or_a_user_decides(jobs: tuple[str, ...]) -> None:
    assert share(*jobs) == [[] for _ in jobs]


def test_a_run_that_reads_all_needs_to_be_told_nothing() -> None:
    assert share("elmo.layers=0", "seed=1") == [["store.layers=all"], []]
