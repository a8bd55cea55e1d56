"""The door of all commands: what goes wrong outside of the program is a message too."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmo_bench.cli.main import COMMANDS, LAUNCHERS, main
from tests.support.processes import slow_imports
from tests.support.report_records import ELMO, make_record, publish


def test_help_and_listings_import_nothing_slow() -> None:
    helps = [[name, "--help"] for name in (*LAUNCHERS, *COMMANDS)]
    output, imported = slow_imports(["--help"], ["tasks"], *helps)
    assert output.count("usage: python -m elmo_bench") > len(COMMANDS)
    assert imported == []


def test_a_place_that_cannot_be_written_to_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(tmp_path / "records", make_record("pos", 1, 20, ELMO), 20)
    occupied = tmp_path / "occupied"
    occupied.write_text("a file where a directory is needed")
    code = main(["report", f"paths.records={tmp_path / 'records'}", "--output", str(occupied / "report")])
    error = capsys.readouterr().err
    assert code == 1
    assert error.startswith("error: ")
    assert str(occupied) in error
