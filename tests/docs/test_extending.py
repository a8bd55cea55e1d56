"""Every file of docs/EXTENDING.md is written, and every command and contract of it is run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.support.commands import command_lines, run_command
from tests.support.extensions import MOODS, PAGE, fresh_process, install_package, write_extensions
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
    if command.startswith("cut "):  # of the system, not ours
        subprocess.run(command, shell=True, cwd=root, check=True)
        return
    installed = [] if "--config-dir" in command else [root / "installed"]
    with fresh_process(root, *installed):
        code = run_command(command, monkeypatch)
    assert code == 0, capfd.readouterr().err


@pytest.mark.parametrize("block", CONTRACTS, ids=lambda block: f"line {block.line}")
def test_every_contract_holds(block: Block, root: Path) -> None:
    with fresh_process(root, root / "mine"):
        exec(compile(block.text, PAGE, "exec"), {})


def test_no_label_is_embedded(root: Path) -> None:
    """The file that the page embeds has the words of the sentences alone."""
    (cut,) = (line for _, line in COMMANDS if line.startswith("cut "))
    (embedding,) = (line for _, line in COMMANDS if " embed " in line)
    target = cut.split()[-1]
    assert f" {target} " in embedding
    subprocess.run(cut, shell=True, cwd=root, check=True)
    first = (root / target).read_text(encoding="utf-8").splitlines()[0]
    assert first.split()[0] not in MOODS and "\t" not in first


def test_the_page_says_how_python_finds_its_modules() -> None:
    text = (PROJECT / PAGE).read_text(encoding="utf-8")
    assert text.index("PYTHONPATH=mine") < text.index("from mood import MoodTask")
