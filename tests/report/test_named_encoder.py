"""Rows of another encoder: CoVe in the tables of the biLM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elmo_bench.report.cells import NOTHING
from tests.report.test_report import build, row, table
from tests.support.report_records import ELMO, NONE, make_record, publish

LAST = {**ELMO, "layers": "last"}
AVERAGE = {**ELMO, "lambda": 1.0}
ROWS = ("last layer only", "CoVe, last layer only", "CoVe, all layers, λ = 1")


def add_cove(directory: Path, elmo: dict[str, Any], right: int, task: str = "snli") -> None:
    for seed in (1, 2, 3):
        fingerprint = {"encoder_fingerprint": "c" * 64}
        publish(directory, make_record(task, seed, right, elmo, identity=fingerprint, encoder="cove"), right)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Three seeds: 20, 24 and 28 of 40 right."""
    for seed in (1, 2, 3):
        publish(tmp_path, make_record("snli", seed, 20, NONE), 20)
        publish(tmp_path, make_record("snli", seed, 28, LAST), 28)
    return tmp_path


def test_without_runs_the_row_has_only_the_papers_number_and_names_no_command(records: Path) -> None:
    cell = row(table(build(records), "table2"), "SNLI", ROWS[1])
    assert cell["Paper"].value == 88.2
    assert cell["Here"] == NOTHING


def test_its_runs_fill_rows_of_the_table_of_the_other_encoder(records: Path) -> None:
    add_cove(records, LAST, 22)
    add_cove(records, AVERAGE, 24)
    report = build(records)
    section = next(section for section in report.sections if section.name == "table2")
    assert [found.block for found in section.tables if "encoder cove" in found.block] == []
    cells = [row(table(report, "table2"), "SNLI", label) for label in ROWS]
    assert [cell["Here"].value for cell in cells] == [70.0, 55.0, 60.0]
    assert [cell["Gain"].value for cell in cells] == [20.0, 5.0, 10.0]
    assert [cell["Paper's gain"].value for cell in cells] == pytest.approx([1.0, 0.1, 0.6])
    assert not any(section.name == "further" for section in report.sections)


def test_alone_it_has_a_table_in_which_the_rows_of_the_bilm_are_empty(tmp_path: Path) -> None:
    add_cove(tmp_path, LAST, 22)
    found = table(build(tmp_path), "table2", "no encoder yet")
    assert row(found, "SNLI", ROWS[1])["Here"].value == 55.0
    assert row(found, "SNLI", ROWS[0])["Here"].kind == "missing"


@pytest.mark.parametrize(
    ("name", "task", "title"), [("table5", "wsd", "WSD probe"), ("table6", "pos", "POS probe")]
)
def test_the_probes_read_its_two_layers(tmp_path: Path, name: str, task: str, title: str) -> None:
    for layer, right in ((0, 22), (1, 26)):
        add_cove(tmp_path, {**ELMO, "layers": layer}, right, task)
    found = table(build(tmp_path), name, "no encoder yet")
    cells = [row(found, title, f"CoVe layer {number}")["Here"].value for number in (1, 2)]
    assert cells == [55.0, 65.0]
