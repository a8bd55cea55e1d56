"""From the composed configuration of pretrain.py to a training run of a biLM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from elmo_bench.bilm.settings import BilmConfig, LimitsConfig, ModelName, PretrainConfig
from elmo_bench.bilm.trained import RECORD_FILE
from elmo_bench.bilm.verification import read_finished
from elmo_bench.config import Config, PathsConfig, TrainerConfig
from elmo_bench.data.text import TextCorpus
from elmo_bench.hashing import hash_value
from elmo_bench.sweep.kinds import JobKind
from elmo_bench.sweep.plan import Target
from elmo_bench.sweep.printing import print_line
from elmo_bench.training.devices import refuse_mixed_precision
from elmo_bench.types import UsageError

if TYPE_CHECKING:
    from elmo_bench.bilm.training.pretraining import Pretraining


class PretrainCommand(Config):
    """The configuration of pretrain.py."""

    name: ModelName  # of the finished model's directory
    corpus: Path
    train: str  # patterns of file names in the corpus
    heldout: str
    start: Path | None
    vocabulary: Path | None
    bilm: BilmConfig
    trainer: TrainerConfig
    limits: LimitsConfig
    seed: int = Field(ge=0, lt=2**31)
    paths: PathsConfig
    plan: bool = False


def locate_model(command: PretrainCommand) -> Target:
    """Where the record of the trained model is or will be; another model in its place is an error."""
    directory = command.paths.models / command.name
    record = directory / RECORD_FILE
    corpus = find_texts(command)
    is_done = read_finished(directory) is not None
    if is_done:
        from elmo_bench.bilm.training.pretraining import identity_of, is_finished

        run = _training_of(command, corpus)
        is_done = is_finished(run, identity_of(run))
    facts = command.model_dump(mode="json", exclude={"limits", "trainer", "paths", "plan"})
    key = hash_value([facts, str(record)])
    return Target(key, record, is_done, f"pre-training of {command.bilm.name}", None)


def find_texts(command: PretrainCommand) -> TextCorpus:
    """The text to train on, after a check of the words to predict."""
    if command.vocabulary and command.start:
        raise UsageError("vocabulary: expected null with start=DIR, whose softmax has its own vocabulary")
    if command.vocabulary and not command.vocabulary.is_file():
        raise UsageError(f"vocabulary: expected a file with one word per line, got {command.vocabulary}")
    return TextCorpus.find(command.corpus, command.train, command.heldout)


def pretrain_one(command: PretrainCommand, typed: Sequence[str]) -> Path:
    """Run one pre-training and print its progress."""
    refuse_mixed_precision(command.trainer)
    corpus = find_texts(command)
    # Slow modules are imported only now, so that a mistyped value is reported at once.
    from elmo_bench.bilm.training.pretraining import SMALLER_STEPS, pretrain
    from elmo_bench.runs.environment import describe_environment

    if command.trainer.accumulate > 1:
        raise UsageError(f"trainer.accumulate: only heads are trained in parts; {SMALLER_STEPS}")
    was_done = locate_model(command).done
    run = replace(_training_of(command, corpus), environment=describe_environment())
    record = pretrain(run, print_line) / RECORD_FILE
    if was_done:
        print_line(f"{run.target} is already trained")
    return record


def _training_of(command: PretrainCommand, corpus: TextCorpus) -> Pretraining:
    from elmo_bench.bilm.training.pretraining import Pretraining

    return Pretraining(
        PretrainConfig(bilm=command.bilm, trainer=command.trainer, limits=command.limits, seed=command.seed),
        corpus,
        command.paths.models / command.name,
        command.paths.runs / "pretraining" / command.name,
        command.start,
        command.vocabulary,
    )


KIND = JobKind("pretrain", PretrainCommand, pretrain_one, locate_model)
