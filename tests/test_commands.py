"""Messages name the commands that a user can type: scripts in a clone, elmo-bench where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmo_bench import commands
from elmo_bench.cli.main import COMMANDS, LAUNCHERS, main
from elmo_bench.commands import name_commands

TEXT = "python run.py task=ner; python pretrain.py bilm=small; python -m elmo_bench publish"
INSTALLED = "elmo-bench run task=ner; elmo-bench pretrain bilm=small; elmo-bench publish"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an installed package, which has no run.py beside it."""
    monkeypatch.setattr(commands, "CLONE", tmp_path)


def test_a_clone_has_scripts() -> None:
    assert name_commands(TEXT) == TEXT


def test_an_installed_package_has_one_command(installed: None) -> None:
    assert name_commands(TEXT) == INSTALLED


def test_the_installed_command_of_a_clone_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/elmo-bench", "tasks"])
    assert name_commands(TEXT) == INSTALLED


@pytest.mark.parametrize("name", LAUNCHERS)
def test_runs_and_pretraining_are_commands(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"  python {name}.py " in capsys.readouterr().out


@pytest.mark.parametrize("name", [*LAUNCHERS, *COMMANDS])
def test_help_names_no_script_that_is_not_there(
    name: str, installed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        main([name, "--help"])
    except SystemExit as left:
        assert left.code == 0
    printed = capsys.readouterr().out
    assert f"  elmo-bench {name} " in printed
    assert ".py" not in printed and "python -m" not in printed


def test_messages_name_no_script_that_is_not_there(
    installed: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", f"paths.records={tmp_path}"]) == 3
    assert "elmo-bench run -m +experiment=table1 makes some and elmo-bench publish" in capsys.readouterr().err
