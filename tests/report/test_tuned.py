"""Runs with a fine-tuned encoder: beside those of the encoder it was, and in no other row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elmo_bench.records import Finetuning, TunedEncoder
from elmo_bench.report.overrides import choose_condition
from tests.report.test_report import build, row, table
from tests.support.report_records import ELMO, NONE, make_record, publish

TUNED = TunedEncoder(
    base_fingerprint="e" * 64,
    identity="1" * 64,
    steps=90,
    finetuned=Finetuning(encoder="sample", task="snli", source="sample", corpus="world", data_sha256={}),
)
CHANGED: dict[str, Any] = {"encoder": "sample-snli-world", "tuned": TUNED.model_dump()}
ROWS = ("baseline", "biLM as pre-trained", "fine-tuned biLM")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Three seeds: 20, 24 and 28 of 40 right."""
    for seed in (1, 2, 3):
        publish(tmp_path, make_record("snli", seed, 20, NONE), 20)
        publish(tmp_path, make_record("snli", seed, 24, ELMO), 24)
        other = {"encoder_fingerprint": "t" * 64}
        publish(tmp_path, make_record("snli", seed, 28, ELMO, identity=other, **CHANGED), 28)
    return tmp_path


def test_the_gain_of_fine_tuning_is_over_the_encoder_as_it_was(records: Path) -> None:
    report = build(records)
    section = next(section for section in report.sections if section.name == "table7_effect")
    assert len(section.tables) == 1  # a tuned encoder has no block of its own
    cells = [row(table(report, "table7_effect"), "SNLI", label) for label in ROWS]
    assert [cell["Here"].value for cell in cells] == [50.0, 60.0, 70.0]
    assert [cell["Gain"].value for cell in cells] == [None, 10.0, 10.0]
    assert [cell["Paper"].value for cell in cells] == [88.1, 88.9, 89.5]
    assert cells[2]["Paper's gain"].value == pytest.approx(0.6)


def test_no_other_row_shows_it(records: Path) -> None:
    report = build(records)
    assert row(table(report, "table1"), "SNLI", "+ ELMo")["Here"].value == 60.0
    assert not any(section.name == "further" for section in report.sections)


def test_its_command_fine_tunes_the_encoder_that_it_was() -> None:
    record = make_record("snli", 1, 28, ELMO, **CHANGED)
    assert choose_condition(record) == ["task=snli", "data=sample", "encoder=sample", "tuning=task"]


def test_without_runs_of_the_encoder_it_was_it_has_a_table_of_its_own(tmp_path: Path) -> None:
    publish(tmp_path, make_record("snli", 1, 28, ELMO, **CHANGED), 28)
    found = table(build(tmp_path), "table1", "encoder sample-snli-world")
    assert row(found, "SNLI", "+ ELMo")["Here"].value == 70.0
