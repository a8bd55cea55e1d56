"""Ensembles in the tables that compare systems: shown in the paper's row, or named with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmo_bench.records import Record, write_record
from tests.report.test_report import build, row, table
from tests.support.report_records import ELMO, make_ensemble, make_record, publish_world

ROW = "ESIM+ELMo ensemble (5)"


@pytest.fixture
def records(tmp_path: Path) -> Path:
    publish_world(tmp_path)
    return tmp_path


def members(seeds: int) -> list[Record]:
    """Published runs of SNLI with ELMo."""
    return [make_record("snli", seed, 30, ELMO) for seed in range(1, seeds + 1)]


def test_the_largest_ensemble_of_the_condition_is_shown(records: Path) -> None:
    write_record(records / "two.json", make_ensemble(members(2), 32, name="2" * 12))
    write_record(records / "three.json", make_ensemble(members(3), 33, name="3" * 12))
    report = build(records)
    cells = row(table(report, "table8"), "SNLI", ROW)
    assert cells["Paper"].lines == ("89.3",)
    assert cells["Here"].lines == ("82.50", "ensemble of 3")
    assert cells["Here"].value == 82.5
    assert cells["Gain"].kind == "nothing"  # one ensemble has no gain over the mean of some runs
    assert not [warning for warning in report.warnings if "ensemble" in warning]


def test_without_an_ensemble_the_command_is_named(records: Path) -> None:
    found = table(build(records), "table8")
    assert row(found, "SNLI", ROW)["Here"].lines == ("no ensemble",)
    condition = members(1)[0].condition
    assert found.commands == (f"python -m elmo_bench ensemble results/runs/snli/{condition}-s*",)


def test_without_runs_there_is_nothing_to_combine(records: Path) -> None:
    cells = row(
        table(build(records), "table9", "no encoder"), "SQuAD", "BiDAF + Self Attention + ELMo Ensemble (11)"
    )
    assert cells["Paper"].lines == ("EM 81.0", "F1 87.4")
    assert cells["Here"].lines == ("no run",)


def test_what_no_row_shows_is_named(records: Path) -> None:
    other = [*members(1), make_record("snli", 2, 30, {**ELMO, "where": "both"})]
    ner = [make_record("ner", seed, 30, ELMO) for seed in (1, 2)]
    write_record(records / "mixed.json", make_ensemble(other, 30, name="a" * 12))
    write_record(records / "ner.json", make_ensemble(ner, 30, name="b" * 12))
    write_record(records / "tried.json", make_ensemble(members(2), 30, name="c" * 12, debug=True))
    warnings = build(records).warnings
    assert f"snli/ensemble-{'a' * 12} is not shown: its members differ in more than their seeds" in warnings
    assert (
        f"ner/ensemble-{'b' * 12} is not shown: no table has a row for ensembles of its condition" in warnings
    )
    assert "tried.json is not shown: an ensemble of runs on a few examples (limit or debug)" in warnings
