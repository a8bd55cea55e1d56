"""The text that a biLM is trained on with: a task's sentences, whole, each once, without labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmo_bench import sources
from elmo_bench.config import read_config
from elmo_bench.identity import identify
from elmo_bench.plugins import load_reader, load_task
from elmo_bench.records import condition_of
from elmo_bench.runs.finetuning import write_text
from elmo_bench.sweep.finetuning import FinetuneCommand
from tests.support.composition import TASKS, compose, run_config

TREES = (
    "(3 (2 (2 A) (2 long)) (4 (3 good) (2 (2 old) (2 (2 film) (2 .)))))\n"
    "(1 (2 It) (0 (1 (2 is) (0 bad)) (2 .)))\n"
    "(3 (2 (2 A) (2 long)) (4 (3 good) (2 (2 old) (2 (2 film) (2 .)))))\n"
)


def test_a_treebank_is_read_sentence_by_sentence(tmp_path: Path) -> None:
    file = tmp_path / "trees.txt"
    file.write_text(TREES)
    splits = [f"data.{split}={file}" for split in ("train", "dev", "test")]
    values = compose("task=sst5", "data=files", *splits, f"paths.cache={tmp_path}", entry="finetune")
    command = read_config(FinetuneCommand, values)
    corpus = sources.prepare(command.task, command.data, command.paths, print)
    text = write_text(command, load_reader(command.task), corpus, print)
    assert (text / "train.txt").read_text() == "A long good old film .\nIt is bad .\n"
    assert (text / "dev-text.txt").read_text() == "A long good old film .\nIt is bad .\n"
    phrases = list(load_task(command.task).read(corpus.files["train"]))
    assert len(phrases) == 5  # a run learns from phrases too


@pytest.mark.parametrize("task", TASKS)
def test_how_text_is_read_is_no_part_of_a_run(task: str) -> None:
    config = run_config(f"task={task}")
    load_reader(config.task)  # the settings it changes are there
    other = config.model_copy(update={"task": config.task.model_copy(update={"text": {"more": 1}})})
    first, second = (identify(one, 1, {}, None, None) for one in (config, other))
    assert condition_of(first) == condition_of(second)
    assert "text" not in first["task"]
