"""Every command of docs/TUTORIAL.md runs, in its order, in a directory with the files of the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from elmo_bench.conditions import is_baseline
from elmo_bench.records import read_record
from tests.conftest import PROJECT
from tests.support.commands import command_lines, run_command
from tests.support.extensions import fresh_process
from tests.support.markdown import code_blocks, read_page

PAGE = "docs/TUTORIAL.md"
BLOCKS = list(code_blocks(PAGE))
COMMANDS = [line for block in BLOCKS if block.language == "bash" for line in command_lines(block)]
FULL, QUICK = "task.training.epochs: 400", "task.training.epochs: 1"


def test_the_example_of_a_file_is_the_beginning_of_ours() -> None:
    (example,) = (block.text for block in BLOCKS if block.text.startswith("The O"))
    ours = (PROJECT / "examples" / "own_data" / "train.conll").read_text(encoding="utf-8")
    assert ours.startswith(example)


def test_the_splits_of_the_example_share_no_sentence_with_a_name() -> None:
    splits = [
        {sentence for sentence in path.read_text(encoding="utf-8").split("\n\n") if "B-" in sentence}
        for path in sorted((PROJECT / "examples" / "own_data").glob("*.conll"))
    ]
    assert len(splits) == 3
    assert len(set.union(*splits)) == sum(map(len, splits))


def test_the_installation_is_that_of_the_readme() -> None:
    (install,) = (block.text.splitlines()[0] for block in BLOCKS if block.language == "sh")
    assert f"{install} && " in read_page("README.md")


@pytest.mark.slow
def test_the_commands_lead_from_files_to_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(PROJECT / "examples" / "own_data", tmp_path / "examples" / "own_data")
    shutil.copytree(PROJECT / "results" / "models", tmp_path / "results" / "models")
    (tmp_path / "new.txt").write_text("The Clara left Halden .\n", encoding="utf-8")
    for block in BLOCKS:
        if block.info:
            assert FULL in block.text
            (tmp_path / block.info).parent.mkdir(parents=True)
            (tmp_path / block.info).write_text(block.text.replace(FULL, QUICK), encoding="utf-8")
    with fresh_process(tmp_path):
        for command in COMMANDS:
            finished = (tmp_path / "results" / "runs" / "ner").glob("*/result.json")
            with_elmo = [path.parent for path in finished if not is_baseline(read_record(path))]
            if "RUN" in command:
                command = command.replace("RUN", str(with_elmo[0]))
            assert run_command(command, monkeypatch) == 0, capfd.readouterr().err
    output = capfd.readouterr().out
    assert "9 of 9 jobs done" in output
    assert '["The", "Clara", "left", "Halden", "."]' in output
    report = tmp_path / "mine" / "report"
    assert [path.name for path in report.iterdir() if f"`{path.name}`" not in read_page(PAGE)] == []
    for name in ("index.html", "tables.tex", "TABLES.md"):
        assert "Harbour news" in (report / name).read_text(encoding="utf-8")
    assert "\nharbour," in (report / "tables.csv").read_text(encoding="utf-8")
