"""The door of all commands: what goes wrong outside of the program is a message too."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmo_bench.cli.main import COMMANDS, LAUNCHERS, main
from tests.support.processes import slow_imports
from tests.support.report_records import ELMO, NONE, make_record, publish


def test_help_and_listings_import_nothing_slow() -> None:
    helps = [[name, "--help"] for name in (*LAUNCHERS, *COMMANDS)]
    output, imported = slow_imports(["--help"], ["tasks"], *helps)
    assert output.count("usage: python -m elmo_bench") > len(COMMANDS)
    assert imported == []


def test_commands_that_read_records_do_not_import_pytorch(tmp_path: Path) -> None:
    """The score of a task of conf/task is found without its plug-in, whatever must be drawn anew."""
    sides = []
    for elmo, right in ((NONE, 20), (ELMO, 27)):
        runs = [publish(tmp_path, make_record("snli", seed, right, elmo), right) for seed in (1, 2, 3)]
        sides.append(str(runs[0].counts.with_suffix("")).removesuffix("-s1"))
    places = [f"paths.records={tmp_path}", f"paths.cache={tmp_path / 'cache'}"]
    output, imported = slow_imports(
        ["compare", *sides],
        ["findings", *places],
        ["summary", *places],
        ["summary", *places, "--source", "sample", "--gains"],
    )
    assert output.count("+17.5") > 3
    assert [line for line in imported if "torch" in line or "lightning" in line] == []


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
