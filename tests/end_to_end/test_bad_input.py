"""One readable error and the right exit code for everything a person may get wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmo_bench.sweep.scripts import launch_runs
from tests.support.processes import finish, finish_python, places

GOOD = "John _ _ B-PER\nspoke _ _ O\n\nMary _ _ B-PER\nslept _ _ O\n"


def own_files(directory: Path, **contents: str) -> list[str]:
    """Overrides for one's own corpus with the given splits; the others are good."""
    for split in ("train", "dev", "test"):
        (directory / f"{split}.conll").write_text(contents.get(split, GOOD))
    files = [f"data.{split}={directory / split}.conll" for split in ("train", "dev", "test")]
    return ["task=ner", "elmo=none", "words=random", "data=files", *files, *places(directory)]


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["task=nerr"], 2, "task=nerr: there is no such choice; did you mean 'ner'?"),
        (["task=ner", "elmo.lamda=1"], 2, "elmo.lamda: there is no such key; did you mean 'elmo.lambda'?"),
        (
            ["task=ner", "elmo.lambda=-1"],
            2,
            "elmo.lambda: input should be greater than or equal to 0, got -1",
        ),
        (["task=ner", "elmo.lambda=abc"], 2, "elmo.lambda: input should be a valid number"),
        (["task=???"], 2, "choose a task"),
        ([], 2, "choose a task"),
        (
            ["task=ner", "data=open", "elmo=none", "words=random", "paths.data=absent"],
            3,
            "paths.data is absent; ELMO_BENCH_DATA=DIR sets it",
        ),
        (["task=ner", "data=open", "paths.vectors=absent"], 3, "no such file"),
    ],
)
def test_mistakes_of_the_command_line(arguments: list[str], code: int, complaint: str) -> None:
    answer, _, errors = finish(*arguments)
    assert complaint in errors
    assert "Traceback" not in errors
    assert answer == code


@pytest.mark.parametrize(
    ("train", "complaint"),
    [
        ("John _ _ B-PER\nspoke O\n", "train.conll:2: expected"),
        ("", "train.conll:1: expected at least one sentence"),
        ("John _ _ X-PER\n", "train.conll:1: expected"),
    ],
)
def test_mistakes_in_data(tmp_path: Path, train: str, complaint: str) -> None:
    answer, _, errors = finish(*own_files(tmp_path, train=train))
    assert complaint in errors
    assert "Traceback" not in errors
    assert answer == 1


@pytest.mark.parametrize(
    ("train", "complaint"),
    [
        ("absent.conll", "absent.conll: no such file"),
        (".", ".: expected a file, got a directory"),
    ],
)
def test_a_file_of_ones_own_that_is_none(
    tmp_path: Path, train: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for word in own_files(tmp_path) if not word.startswith("data.train=")]
    assert launch_runs("", [*words, f"data.train={train}"]) == 3
    where = f"(data.train, looked for in {Path.cwd()})"
    remedy = "give data.train=FILE, or type a command about a finished run where that was made"
    assert capsys.readouterr().err == f"error: {complaint} {where}; {remedy}\n"


def test_own_files_run(tmp_path: Path) -> None:
    answer, output, errors = finish(*own_files(tmp_path), "task.training.epochs=1")
    assert answer == 0, errors
    assert "ner on own (files), without ELMo, seed 1" in output


def test_help_names_every_task() -> None:
    answer, output, _ = finish("--help")
    assert answer == 0
    assert "task=ner elmo.lambda=0.001" in output


def test_a_mistyped_task_to_fine_tune_on_is_named_as_it_was_typed() -> None:
    code, _, errors = finish_python("encoder=sample", "finetune=nerr", script="pretrain.py")
    assert "finetune=nerr: there is no such choice; did you mean 'ner'?" in errors
    assert code == 2


def test_a_loss_that_runs_away_is_said_with_what_to_do(tmp_path: Path) -> None:
    steps = ["task.training.optimiser.lr=1e30", "task.training.epochs=9", "task.training.clip.by=none"]
    answer, _, errors = finish(*own_files(tmp_path), *steps)
    assert "expected a finite training loss, got nan; lower task.training.optimiser.lr" in errors
    assert "Traceback" not in errors
    assert "requires_grad" not in errors  # PyTorch's warning of a number that is taken from a graph
    assert answer == 1
