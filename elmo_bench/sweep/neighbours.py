"""The jobs of an experiment that asks for nearest neighbours (paper, Table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from elmo_bench.config import Config, DataConfig, EncoderConfig, PathsConfig, TrainerConfig, WordsConfig
from elmo_bench.encoders.find import plan_encoder
from elmo_bench.encoders.neighbours import Candidates
from elmo_bench.hashing import hash_value
from elmo_bench.records import write_record
from elmo_bench.runs.neighbours import Question, Setting, answer, prepare
from elmo_bench.sweep.kinds import JobKind
from elmo_bench.sweep.plan import Target
from elmo_bench.sweep.printing import print_line, print_once
from elmo_bench.types import UsageError

GROUP = "nearest neighbours"  # as plans say


class NeighboursCommand(Config):
    """What the experiment table4 is asked for (conf/neighbours.yaml)."""

    word: str
    corpus: str
    layer: int | None = Field(ge=0)
    sentences: Literal["usual", "first"] | dict[str, str | None]
    known: dict[str, dict[str, dict[str, str | None]]]  # the usual sentences by corpus and word
    queries: int = Field(ge=1)
    count: int = Field(ge=1)
    candidates: Candidates
    data: DataConfig
    usual: dict[str, dict[str, str]]
    encoder: EncoderConfig
    words: WordsConfig
    task: dict[str, Any]
    trainer: TrainerConfig
    paths: PathsConfig
    plan: bool = False


def answer_one(command: NeighboursCommand, typed: Sequence[str]) -> Path:
    """The job of an experiment: answered, and kept as a record."""
    prepared = prepare(*read_question(command), print_line)
    path = prepared.place(command.paths.records)
    if path.is_file():
        print_line(f"already done: {path}")
    else:
        write_record(path, answer(prepared))
        print_line(f"{prepared.question.word} in {prepared.corpus.name}: {path}")
    return path


def locate_answer(command: NeighboursCommand) -> Target:
    """Where its record is or will be; no encoder is made for it."""
    question, setting = read_question(command)
    if planned := plan_encoder(setting.encoder, setting.paths, setting.trainer, print_once):
        key = hash_value([asdict(question), planned.directory.name])
        return Target(key, planned.directory / f"{key}.json", False, GROUP, None)
    path = prepare(question, setting, print_once).place(setting.paths.records)
    return Target(str(path), path, path.is_file(), GROUP, None)


def read_question(command: NeighboursCommand) -> tuple[Question, Setting]:
    """What is asked, and by what it is to be answered."""
    unread = DataConfig(source=command.data.source).model_dump()
    for key, value in command.data.model_dump().items():
        if value != unread[key]:
            raise UsageError(
                f"data.{key}: neighbours are sought in a whole text; corpus=FILE or TASK/CORPUS names it"
            )
    asked = command.model_dump(include={"word", "corpus", "layer", "queries", "count", "candidates"})
    asked["sentences"] = choose_sentences(command)
    setting = Setting(command.encoder, command.words, command.paths, command.trainer)
    return Question(**asked), setting


def choose_sentences(command: NeighboursCommand) -> dict[str, str | None] | None:
    """The sentences that are asked about by id; nothing where the first ones of the corpus are."""
    if isinstance(command.sentences, dict):
        return command.sentences
    if command.sentences == "first":
        return None
    return command.known.get(command.corpus, {}).get(command.word)


KIND = JobKind("neighbours", NeighboursCommand, answer_one, locate_answer)
