"""Several runs as one: the mean of their probabilities, decoded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from elmo_bench.run.module import TaskModule
from elmo_bench.run.restoration import Restored
from elmo_bench.run.selection import choose_examples, read_examples
from elmo_bench.task import Example
from elmo_bench.tensors import Batch, Head, HeadOutput, Probabilistic
from elmo_bench.types import Prediction, Say, Scores, UsageError

SPLITS = ("dev", "test")


@dataclass(frozen=True)
class EnsembleSplit:
    """What was predicted of one split, by each run and by all together."""

    examples: list[Example]
    members: list[list[Prediction]]
    together: list[Prediction]


def check_members(runs: Sequence[Restored]) -> None:
    """Only runs of one task on the same data, with the same labels and probabilities, have a mean."""
    first = runs[0]
    if not isinstance(first.module.head, Probabilistic):
        raise UsageError(
            f"task {first.record.task}: {type(first.module.head).__name__} decodes whole structures and has "
            "no probabilities that could be averaged"
        )
    for run in runs[1:]:
        for what, mine, others in (
            ("task", run.record.task, first.record.task),
            ("task version", run.record.task_version, first.record.task_version),
            ("dev data", run.prepared.data_sha256["dev"], first.prepared.data_sha256["dev"]),
            ("test data", run.prepared.data_sha256.get("test"), first.prepared.data_sha256.get("test")),
            ("limit", run.config.limit, first.config.limit),
            ("batch size", run.config.task.training.batch_size, first.config.task.training.batch_size),
            ("vocabularies", run.vocabularies.named, first.vocabularies.named),
        ):
            if mine != others:
                raise UsageError(f"{run.directory}: another {what} than {first.directory}: they have no mean")


def predict_together(runs: Sequence[Restored], split: str, say: Say) -> EnsembleSplit:
    """Every member's predictions of a split, and those of the mean of their probabilities."""
    first = runs[0]
    everything = read_examples(first.prepared.task, first.prepared.corpus)[split]
    examples = choose_examples(split, everything, first.config.data, first.config.limit)
    encoded = examples if first.config.limit else everything
    opened = []
    for run in runs:
        label = f"{run.record.task} {run.prepared.corpus.name} {split}"
        opened.append(run.open(examples, encoded, run.prepared.data_sha256[split], label, say))
    members: list[list[Prediction]] = [[] for _ in runs]
    together: list[Prediction] = []
    for batches in zip(*opened, strict=True):
        outputs = [compute(run.module, batch) for run, batch in zip(runs, batches, strict=True)]
        for run, batch, output, found in zip(runs, batches, outputs, members, strict=True):
            found.extend(head_of(run).decode(output, batch))
        chances = [
            probabilities(run, output, batch)
            for run, output, batch in zip(runs, outputs, batches, strict=True)
        ]
        mean = HeadOutput(outputs[0].loss, log_mean(chances))
        together.extend(head_of(first).decode(mean, batches[0]))
    return EnsembleSplit(examples, members, together)


@torch.inference_mode()
def compute(module: TaskModule, batch: Batch) -> HeadOutput:
    """On this processor, whatever the run was trained on."""
    output: HeadOutput = module(batch)
    return output


def head_of(run: Restored) -> Head:
    head: Head = run.module.head
    return head


def probabilities(run: Restored, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
    head = run.module.head
    assert isinstance(head, Probabilistic)
    return head.probabilities(output, batch)


def log_mean(chances: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The logarithm of the mean of each distribution: what decode takes for scores."""
    return {name: torch.stack([of_one[name] for of_one in chances]).mean(dim=0).log() for name in chances[0]}


def score(run: Restored, split: EnsembleSplit, predictions: Sequence[Prediction]) -> Scores:
    """What some predictions of a split are worth."""
    task = run.prepared.task
    pairs = zip(split.examples, predictions, strict=True)
    return task.score([task.count(example, prediction) for example, prediction in pairs])
