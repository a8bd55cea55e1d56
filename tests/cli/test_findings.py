"""`findings`: what is printed, for which sources, and which exit code it has."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from elmo_bench import directories
from elmo_bench.catalog import list_findings
from elmo_bench.cli.main import main
from tests.conftest import PROJECT
from tests.support.report_records import ELMO, NONE, make_record, publish

OWN = """
title: Findings of my own
findings:
  mine:
    claim: ELMo beats word vectors at tagging
    tasks: [pos]
    first: {elmo.where: none}
    second: {elmo.layers: all}
    direction: greater
    test: seeds and examples
"""


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    """Overrides that keep a command away from the project's own records and cache."""
    return [f"paths.{name}={tmp_path / name}" for name in ("records", "cache")]


@pytest.fixture
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's directory with one file of findings."""
    monkeypatch.setattr(directories, "_own", [])
    directory = tmp_path / "mine"
    (directory / "findings").mkdir(parents=True)
    (directory / "findings" / "own.yaml").write_text(OWN)
    return directory


def publish_accuracies(directory: Path, *pairs: tuple[int, int], **changes: Any) -> None:
    """Part-of-speech runs without and with ELMo, so many of their 40 examples right."""
    for seed, rights in enumerate(pairs, start=1):
        for elmo, right in zip((NONE, ELMO), rights, strict=True):
            publish(directory, make_record("pos", seed, right, elmo, **changes), right)


def test_without_records_every_finding_names_its_commands(
    places: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["findings", *places, "--source", "open"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("open: ")
    assert "python run.py -m task=squad data=open seed=1,2,3 elmo.where=none" in printed
    assert "holds " not in printed
    assert "Controls: what context adds" not in printed  # a family about the generated world


def test_a_source_without_a_run_for_any_finding_is_one_line(
    places: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(tmp_path / "records", make_record("pos", 1, 20, ELMO, source="files", corpus="own"), 20)
    assert main(["findings", *places]) == 0
    count, hint = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"files: \d+ not run", count)
    assert hint.startswith(f"python -m elmo_bench findings --source files {places[0]} ")
    assert hint.endswith(" lists them, with the commands that make the runs")


def test_a_finding_of_a_users_own_is_judged(
    places: list[str], own_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish_accuracies(tmp_path / "records", (10, 25), (11, 26), (9, 25))
    assert main(["findings", *places, "--json", "--config-dir", str(own_directory)]) == 0
    rows = json.loads(capsys.readouterr().out)
    (row,) = [row for row in rows if row["family"] == "own"]
    assert (row["verdict"], row["task"], row["seeds"]) == ("holds", "pos", [1, 2, 3])
    assert row["interval"][0] > 0 and row["adjusted_p"] == row["p"] < 0.05
    assert {row["verdict"] for row in rows if row["family"] != "own"} == {"not run"}


def test_the_commands_of_a_users_findings_name_the_directory(
    places: list[str], own_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["findings", *places, "--source", "sample", "--config-dir", str(own_directory)]) == 0
    printed = capsys.readouterr().out
    assert f"--config-dir {own_directory} task=pos data=sample seed=1,2,3 elmo.where=none" in printed


def test_no_task_is_loaded(places: list[str], own_directory: Path, tmp_path: Path) -> None:
    publish_accuracies(tmp_path / "records", (10, 25), (11, 26), (9, 25))
    command = ["findings", *places, "--json", "--config-dir", str(own_directory)]
    program = (
        "import sys; from elmo_bench.cli.main import main; code = main(sys.argv[1:]); "
        "print('torch' in sys.modules, file=sys.stderr); sys.exit(code)"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program, *command], cwd=PROJECT, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert [one.stderr.split()[-1] for one in found] == ["False", "False"]
    assert found[0].stdout == found[1].stdout


def test_broken_records_make_the_exit_code_one(
    places: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish_accuracies(tmp_path / "records", (10, 25), (11, 26), (9, 25))
    assert main(["findings", *places]) == 0
    (tmp_path / "records" / "broken.json").write_text("{")
    assert main(["findings", *places]) == 1
    captured = capsys.readouterr()
    assert "broken.json is not shown" in captured.err
    assert "sample: " in captured.out


def test_damaged_counts_make_the_exit_code_one(
    places: list[str], own_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish_accuracies(tmp_path / "records", (10, 25), (11, 26), (9, 25))
    next((tmp_path / "records").rglob("*.npz")).write_bytes(b"damaged")
    assert main(["findings", *places, "--config-dir", str(own_directory)]) == 1
    assert "not the counts of its record" in capsys.readouterr().err


def test_runs_that_are_left_out_for_a_reason_are_not_broken(places: list[str], tmp_path: Path) -> None:
    publish_accuracies(tmp_path / "records", (10, 25), debug=True)
    (tmp_path / "records" / "new.json").write_text('{"kind": "from the future"}')
    assert main(["findings", *places]) == 0


def test_a_name_that_conf_has_already_is_refused(
    places: list[str], own_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = next(iter(list_findings()))
    (own_directory / "findings" / "own.yaml").rename(own_directory / "findings" / f"{taken}.yaml")
    assert main(["findings", *places, "--config-dir", str(own_directory)]) == 2
    assert "has this name already" in capsys.readouterr().err


def test_the_markdown_table_has_the_findings_with_runs_and_counts_the_others(
    places: list[str], own_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish_accuracies(tmp_path / "records", (10, 30), (11, 31), (12, 30))
    words = ["--source", "sample", "--config-dir", str(own_directory), *places]
    assert main(["findings", "--markdown", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    mine = [line for line in lines if "ELMo beats word vectors at tagging" in line]
    assert len(mine) == 1
    assert "| 27.50 → 75.83 | +48.33 |" in mine[0]
    assert mine[0].endswith("| 3 | **holds** |")
    assert sum(line.startswith("| ") for line in lines) - 1 < len(list_findings())
    assert "not run." in lines[-1]


def test_a_directory_that_is_not_there_is_named(
    places: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["findings", *places]) == 0
    assert "records: no such directory (paths.records); " in capsys.readouterr().err
