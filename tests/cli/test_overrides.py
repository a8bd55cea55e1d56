"""The words that change a path or a value are those of run.py, for every command."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from elmo_bench.cli.main import main
from elmo_bench.cli.overrides import options_with_values, split_overrides
from tests.support.report_records import ELMO, make_record, publish


@pytest.mark.parametrize(
    "command",
    [
        ["report", "--output", "OUT"],
        ["summary"],
        ["publish"],
        ["store", "list"],
        ["tasks", "ner"],
        ["doctor"],
        ["validate", "task=ner"],
    ],
)
def test_a_mistyped_override_is_refused_by_every_command(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "paths.recods=DIR"]) == 2
    assert "paths.recods: there is no such key; did you mean 'paths.records'?" in capsys.readouterr().err


def test_the_records_of_the_override_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(tmp_path, make_record("pos", 1, 20, ELMO), 20)
    assert main(["summary", f"paths.records={tmp_path}", "--task", "pos"]) == 0
    assert "50.00" in capsys.readouterr().out
    assert main(["report", "--output", str(tmp_path / "out"), "paths.records=absent"]) == 3
    assert "absent: no published runs there" in capsys.readouterr().err


def test_a_mistyped_task_is_answered_with_those_of_the_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(tmp_path, make_record("pos", 1, 20, ELMO), 20)
    assert main(["summary", f"paths.records={tmp_path}", "--task", "poss"]) == 3
    assert "no records with task poss; there are of task: pos;" in capsys.readouterr().err


def test_an_override_is_told_from_other_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a=b").touch()
    words = ["ner", "paths.data=x", "--json", "+limit=3", "~debug", "a=b", "--output=c=d", "1 = 2", "x/y"]
    assert split_overrides(words) == (
        ["paths.data=x", "+limit=3", "~debug"],
        ["ner", "--json", "a=b", "--output=c=d", "1 = 2", "x/y"],
    )


def test_the_value_of_an_option_is_no_override() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", "-o")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--word", nargs="*")
    cleaning = parser.add_subparsers().add_parser("clean")
    cleaning.add_argument("--encoder")
    words = ["--output", "seed=1.jsonl", "--json", "seed=2", "--word", "seed=3", "-o", "seed=4"]
    words += ["--out", "seed=5", "clean", "--encoder", "a=b", "--", "seed=6"]
    assert split_overrides(words, options_with_values(parser)) == (
        ["seed=2", "seed=3", "seed=6"],
        [word for word in words if word not in ("seed=2", "seed=3", "seed=6")],
    )


def test_a_directory_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--config-dir", "absent"]) == 2
    assert "--config-dir absent: no such directory" in capsys.readouterr().err
