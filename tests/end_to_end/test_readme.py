"""What README.md says to type is what the project understands."""

from __future__ import annotations

import re
import shlex

import pytest

from elmo_bench.cli.main import COMMANDS, main
from elmo_bench.config import RunConfig, read_config
from tests.conftest import PROJECT
from tests.support.composition import compose

README = (PROJECT / "README.md").read_text()
LINES = [line.split("#")[0].strip() for line in README.splitlines()]
SUMMARY = "python -m elmo_bench summary"
RUNS = sorted({match[1] for line in LINES if (match := re.search(r"python run\.py (.*)$", line))})
OTHERS = sorted({match[1] for match in re.finditer(r"python -m elmo_bench (\w+)", README)})


def first_jobs(arguments: list[str]) -> list[str]:
    """The overrides of a command line, the first value where it sweeps; experiments name their tasks."""
    overrides = [argument.split(",")[0] for argument in arguments if "=" in argument]
    return overrides if any(o.startswith("task=") for o in overrides) else [*overrides, "task=ner"]


@pytest.mark.parametrize("command", [run for run in RUNS if "--help" not in run])
def test_every_run_composes(command: str) -> None:
    arguments = shlex.split(command)
    overrides = [a for a in first_jobs(arguments) if not a.startswith("data.")]
    read_config(RunConfig, compose(*overrides))


@pytest.mark.parametrize("command", OTHERS)
def test_every_command_exists(command: str) -> None:
    assert command in COMMANDS


def test_the_two_commands_are_there_and_install_with_constraints() -> None:
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv")]
    assert len(lines) == 2
    assert all("pip install -q -c constraints.txt" in line for line in lines)
    assert lines[0].endswith("run.py task=ner elmo.lambda=0.001")
    assert lines[1].endswith("python -m pytest")


def test_every_linked_file_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (PROJECT / target).exists(), target


@pytest.mark.parametrize("command", [line for line in LINES if line.startswith(SUMMARY)])
def test_the_results_are_those_of_the_records(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(PROJECT)
    assert main(shlex.split(command)[3:]) == 0
    assert capsys.readouterr().out.strip() in README
