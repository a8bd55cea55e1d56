"""The jobs of `pretrain.py finetune=TASK`: a biLM trained on with a task's text (paper A.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from elmo_bench.bilm.settings import LimitsConfig
from elmo_bench.bilm.trained import RECORD_FILE
from elmo_bench.config import WordsConfig
from elmo_bench.hashing import hash_value
from elmo_bench.runs.finetuning import Finetuning, is_made, make
from elmo_bench.sweep.kinds import JobKind
from elmo_bench.sweep.plan import Target
from elmo_bench.sweep.printing import print_line, print_once
from elmo_bench.training.devices import refuse_mixed_precision


class FinetuneCommand(Finetuning):
    """What pretrain.py is asked for with finetune=TASK."""

    limits: LimitsConfig
    words: WordsConfig  # chosen along with data; nothing reads them
    plan: bool = False


def locate_finetuning(command: FinetuneCommand) -> Target:
    """Where the fine-tuned model's record is or will be; nothing is computed."""
    corpus = command.corpus(print_once)
    record = command.directory(corpus) / RECORD_FILE
    encoder = command.encoder.model_dump(mode="json", exclude={"device"})
    key = hash_value([command.facts(corpus), encoder, command.seed, command.bilm, str(record)])
    return Target(key, record, is_made(command, corpus), f"fine-tuning on {command.task.name}", None)


def finetune_one(command: FinetuneCommand, typed: Sequence[str]) -> Path:
    """One fine-tuning; its progress is printed."""
    refuse_mixed_precision(command.trainer)
    corpus = command.corpus(print_line)
    was_done = is_made(command, corpus)
    directory = make(command, corpus, print_line)
    if was_done:
        print_line(f"{directory} is already trained")
    return directory / RECORD_FILE


KIND = JobKind("finetune", FinetuneCommand, finetune_one, locate_finetuning)
