"""Which part of a split a run uses, and that too small a part is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from elmo_bench.config import CorpusConfig, DataConfig
from elmo_bench.runs.selection import choose_examples, read_examples
from elmo_bench.sources import Corpus
from elmo_bench.types import SplitFiles, UsageError


@dataclass(frozen=True)
class Numbered:
    id: str


WHOLE = [Numbered(str(number)) for number in range(600)]


def chosen(**data: float) -> list[str]:
    config = DataConfig.model_validate({"source": "sample", **data})
    return [example.id for example in choose_examples("train", WHOLE, config, None)]


def test_smaller_parts_lie_within_larger_ones() -> None:
    assert len(chosen(fraction=0.1)) == 60
    assert set(chosen(fraction=0.1)) < set(chosen(fraction=0.5)) < set(chosen())
    assert chosen(fraction=0.1) == chosen(fraction=0.5, limit=60)


def test_a_training_set_below_the_least_is_refused() -> None:
    assert len(chosen(fraction=0.1, least=60)) == 60
    with pytest.raises(UsageError, match=r"data\.fraction=0\.1: expected at least 61 .* got 60 of 600"):
        chosen(fraction=0.1, least=61)
    assert len(choose_examples("dev", WHOLE, DataConfig(source="sample", least=700), None)) == 600


@dataclass(frozen=True)
class Lines:
    """A task, as far as reading needs one."""

    shout: bool = False
    read_files: ClassVar[list[Path]] = []

    def read(self, files: SplitFiles) -> Iterator[Numbered]:
        self.read_files.extend(files.paths)
        for line in files.paths[0].read_text().splitlines():
            yield Numbered(line.upper() if self.shout else line)


def read_lines(task: Any, file: Path) -> list[str]:
    config = CorpusConfig.model_validate({"format": "lines", "train": file.name})
    corpus = Corpus("files", "lines", config, {"train": SplitFiles("train", "lines", (file,))}, file.parent)
    return [row.id for row in read_examples(task, corpus)["train"]]


def test_the_runs_of_a_sweep_read_their_corpus_once(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("a\nb\n")
    assert read_lines(Lines(), file) == read_lines(Lines(), file) == ["a", "b"]
    assert Lines.read_files == [file]
    assert read_lines(Lines(shout=True), file) == ["A", "B"]
    file.write_text("a\nb\nc\n")
    assert read_lines(Lines(shout=True), file) == ["A", "B", "C"]
    assert Lines.read_files == [file] * 3
