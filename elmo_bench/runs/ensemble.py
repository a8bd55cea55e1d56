"""Ensembles: decode the mean of the probabilities of several runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from elmo_bench.hashing import hash_file, hash_value
from elmo_bench.records import (
    COUNTS,
    ENSEMBLE_RECORD,
    WEIGHTS,
    EnsembleMember,
    EnsembleRecord,
    predictions_file,
    write_counts,
    write_predictions,
    write_record,
)
from elmo_bench.runs.environment import describe_environment
from elmo_bench.runs.module import TaskModule
from elmo_bench.runs.restoration import Restored
from elmo_bench.runs.selection import choose_examples, read_examples
from elmo_bench.task import Example
from elmo_bench.tensors import Batch, Head, HeadOutput, Probabilistic
from elmo_bench.types import Counts, Log, Prediction, Scores, UsageError

SPLITS = ("dev", "test")


@dataclass(frozen=True)
class EnsembleSplit:
    """The predictions for one split, by each run and by the ensemble."""

    examples: list[Example]
    members: list[list[Prediction]]
    together: list[Prediction]


def check_members(runs: Sequence[Restored]) -> None:
    """Require runs of one task on the same data, with the same labels, whose heads give probabilities."""
    first = runs[0]
    if not isinstance(first.module.head, Probabilistic):
        raise UsageError(
            f"{first.directory}: {type(first.module.head).__name__} gives no probabilities to average; an "
            "ensemble needs a head that has the method `probabilities` (docs/EXTENDING.md)"
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
                raise UsageError(
                    f"{run.directory}: the {what} differs from {first.directory}; an ensemble needs runs of "
                    "one task on the same data"
                )


def splits_of(runs: Sequence[Restored]) -> list[str]:
    """The splits that the members were scored on."""
    return [split for split in SPLITS if split in runs[0].prepared.data_sha256]


def predict_together(runs: Sequence[Restored], split: str, log: Log) -> EnsembleSplit:
    """Every member's predictions of a split, and those of the mean of their probabilities."""
    first = runs[0]
    everything = read_examples(first.prepared.task, first.prepared.corpus)[split]
    examples = choose_examples(split, everything, first.config.data, first.config.limit)
    encoded = examples if first.config.limit else everything
    opened = []
    for run in runs:
        label = f"{run.record.task} {run.prepared.corpus.name} {split}"
        opened.append(run.open(examples, encoded, run.prepared.data_sha256[split], label, log))
    members: list[list[Prediction]] = [[] for _ in runs]
    together: list[Prediction] = []
    for batches in zip(*opened, strict=True):
        outputs = [compute(run.module, batch) for run, batch in zip(runs, batches, strict=True)]
        for run, batch, output, found in zip(runs, batches, outputs, members, strict=True):
            found.extend(head_of(run).decode(output, batch))
        distributions = [
            probabilities(run, output, batch)
            for run, output, batch in zip(runs, outputs, batches, strict=True)
        ]
        mean = HeadOutput(outputs[0].loss, log_mean(distributions))
        together.extend(head_of(first).decode(mean, batches[0]))
    in_file_order = opened[0].in_file_order  # the same for all: it depends on the examples alone
    return EnsembleSplit(examples, list(map(in_file_order, members)), in_file_order(together))


@torch.inference_mode()
def compute(module: TaskModule, batch: Batch) -> HeadOutput:
    """A head's output, computed on the processor, whatever device the run was trained on."""
    output: HeadOutput = module(batch)
    return output


def head_of(run: Restored) -> Head:
    """The head of a run, which PyTorch knows as a module alone."""
    head: Head = run.module.head
    return head


def probabilities(run: Restored, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
    """The probabilities that a run gives its answers; `check_members` has seen that its head has any."""
    head = run.module.head
    assert isinstance(head, Probabilistic)
    return head.probabilities(output, batch)


def log_mean(distributions: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The logarithm of the mean of each distribution, which `decode` takes as scores."""
    return {
        name: torch.stack([of_one[name] for of_one in distributions]).mean(dim=0).log()
        for name in distributions[0]
    }


def count(run: Restored, split: EnsembleSplit, predictions: Sequence[Prediction]) -> list[Counts]:
    """One row of numbers per example of a split."""
    pairs = zip(split.examples, predictions, strict=True)
    return [run.prepared.task.count(example, prediction) for example, prediction in pairs]


def score(run: Restored, split: EnsembleSplit, predictions: Sequence[Prediction]) -> Scores:
    """What some predictions of a split are worth."""
    return run.prepared.task.score(count(run, split, predictions))


def name_ensemble(runs: Sequence[Restored]) -> str:
    """The same name for the same members, in whatever order they come."""
    return hash_value(sorted([run.record.condition, run.record.seed, weights_of(run)] for run in runs))[:12]


def weights_of(run: Restored) -> str:
    """The sha256 of a run's trained weights."""
    return run.record.hashes[WEIGHTS]


def check_output(directory: Path, name: str) -> None:
    """Refuse to write over anything but an earlier ensemble: a finished run's files have the same names.

    A directory that has the ensemble's own name may lack the record, if an earlier command was stopped.
    """
    remedy = "choose another --output or remove it"
    if not directory.is_dir():
        if os.path.lexists(directory):
            raise UsageError(f"{directory}: expected a directory, got something else; {remedy}")
        return
    found = {path.name for path in directory.iterdir() if not path.name.startswith(".")}
    others = found - {ENSEMBLE_RECORD, COUNTS, *map(predictions_file, SPLITS)}
    if found and directory.name != f"ensemble-{name}" and ENSEMBLE_RECORD not in found:
        others = found
    if others:
        raise UsageError(
            f"{directory}: expected a new directory or one that an ensemble was written to, "
            f"got one that holds {min(others)}; {remedy}"
        )


def write_ensemble(
    runs: Sequence[Restored], splits: Mapping[str, EnsembleSplit], directory: Path
) -> EnsembleRecord:
    """Write predictions, counts, and last of all the record."""
    first = runs[0]
    counts = {name: count(first, split, split.together) for name, split in splits.items()}
    members = [
        describe_member(
            run, {name: score(run, split, split.members[number]) for name, split in splits.items()}
        )
        for number, run in enumerate(runs)
    ]
    for name, split in splits.items():
        ids = [example.id for example in split.examples]
        write_predictions(directory / predictions_file(name), zip(ids, split.together, strict=True))
    write_counts(directory / COUNTS, counts)
    files = [COUNTS, *map(predictions_file, splits)]
    record = EnsembleRecord(
        name=name_ensemble(runs),
        task=first.record.task,
        task_version=first.record.task_version,
        metric=first.record.metric,
        source=first.record.source,
        corpus=first.record.corpus,
        size=first.record.size,
        debug=any(run.record.debug for run in runs),
        members=tuple(members),
        scores={name: first.prepared.task.score(rows) for name, rows in counts.items()},
        examples={name: len(split.examples) for name, split in splits.items()},
        hashes={
            **{f"data/{name}": first.prepared.data_sha256[name] for name in splits},
            **{name: hash_file(directory / name) for name in files},
        },
        environment=describe_environment(first.prepared.packages),
    )
    write_record(directory / ENSEMBLE_RECORD, record)
    return record


def describe_member(run: Restored, scores: dict[str, Scores]) -> EnsembleMember:
    """A run with what its restored head scores, which is what it scored when it was trained."""
    return EnsembleMember(
        condition=run.record.condition,
        seed=run.record.seed,
        encoder=run.record.encoder,
        scores=scores,
        weights_sha256=weights_of(run),
    )
