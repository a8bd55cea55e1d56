"""Every file of docs/EXTENDING.md is written, and every command and contract of it is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.support.commands import command_lines, run_command
from tests.support.extensions import PAGE, fresh_process, install_package, write_extensions
from tests.support.markdown import Block, code_blocks

COMMANDS = [
    (block, line) for block in code_blocks(PAGE) if block.language == "bash" for line in command_lines(block)
]
CONTRACTS = [block for block in code_blocks(PAGE) if block.language == "python" and not block.info]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory with the files of the page, and the models of a clone."""
    root = tmp_path_factory.mktemp("extending")
    write_extensions(root)
    install_package(root)
    shutil.copytree(PROJECT / "results" / "models", root / "results" / "models")
    return root


@pytest.mark.parametrize("command", [line for _, line in COMMANDS])
def test_every_command_runs(
    command: str, root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    installed = [] if "--config-dir" in command else [root / "installed"]
    with fresh_process(root, *installed):
        code = run_command(command, monkeypatch)
    assert code == 0, capfd.readouterr().err


@pytest.mark.parametrize("block", CONTRACTS, ids=lambda block: f"line {block.line}")
def test_every_contract_holds(block: Block, root: Path) -> None:
    with fresh_process(root, root / "mine"):
        exec(compile(block.text, PAGE, "exec"), {})
