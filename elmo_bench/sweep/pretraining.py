"""From the composed configuration of pretrain.py to a training run of a biLM."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import Field

from elmo_bench.bilm.settings import BilmConfig, LimitsConfig, PretrainConfig
from elmo_bench.config import Config, PathsConfig, TrainerConfig, read_config
from elmo_bench.data.text import TextCorpus
from elmo_bench.sweep.entry import say
from elmo_bench.sweep.experiments import FINETUNINGS
from elmo_bench.sweep.launch import Entry, launch
from elmo_bench.types import UsageError

FINETUNE = "finetune="  # on the command line, before the name of a task
TASK = "task="  # the same to Hydra


class PretrainCommand(Config):
    """What pretrain.py is asked for."""

    name: str = Field(pattern=r"^[\w.+-]+$")  # of the finished model's directory
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


def launch_training(usage: str, arguments: list[str]) -> int:
    """Pre-train, or fine-tune where the command line names a task: its configuration is another one."""
    # A process of a distributed run is started with the words that Hydra was given.
    if any(argument.startswith((FINETUNE, TASK)) for argument in arguments):
        chosen = [re.sub(f"^{FINETUNE}", TASK, argument) for argument in arguments]
        return launch(FINETUNINGS, usage, chosen)
    return launch(Entry("pretrain", pretrain_one), usage, arguments)


def pretrain_one(values: dict[str, Any]) -> Path:
    """One training run, told to the person who started it."""
    command = read_config(PretrainCommand, values)
    corpus = TextCorpus.find(command.corpus, command.train, command.heldout)
    # Only now what takes seconds to import: a mistyped value is answered at once.
    from elmo_bench.bilm.training.pretraining import Pretraining, pretrain
    from elmo_bench.run.environment import describe_environment

    if command.vocabulary and command.start:
        raise UsageError("vocabulary: expected null beside start, whose softmax has words of its own")
    if command.vocabulary and not command.vocabulary.is_file():
        raise UsageError(f"vocabulary: expected a file with one word per line, got {command.vocabulary}")
    config = PretrainConfig(
        bilm=command.bilm, trainer=command.trainer, limits=command.limits, seed=command.seed
    )
    target = command.paths.models / command.name
    work = command.paths.runs / "pretraining" / command.name
    run = Pretraining(
        config,
        corpus,
        target,
        work,
        command.start,
        command.vocabulary,
        environment=describe_environment(),
    )
    return pretrain(run, say) / "record.json"
