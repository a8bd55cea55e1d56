"""Restore a finished run: its head with its weights, ready for other examples."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from elmo_bench.catalog import list_tasks, read_task
from elmo_bench.conditions import fill_in
from elmo_bench.config import PathsConfig, RunConfig, read_config
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.hashing import hash_file, hash_files
from elmo_bench.output import progress_bar
from elmo_bench.records import RUN_RECORD, WEIGHTS, Record, read_record
from elmo_bench.report.shapes import require_shape
from elmo_bench.runs.batches import EvaluationBatches, LayerSource, no_layers
from elmo_bench.runs.excerpts import check_documents, texts_of
from elmo_bench.runs.execution import build_module
from elmo_bench.runs.fitting import predict
from elmo_bench.runs.inputs import build_store, build_vocabularies, number_examples
from elmo_bench.runs.module import TaskModule
from elmo_bench.runs.preparation import Prepared, prepare
from elmo_bench.runs.selection import choose_examples, read_examples
from elmo_bench.task import Example
from elmo_bench.tensors import Batch
from elmo_bench.types import (
    DamagedFileError,
    DataError,
    DataMissingError,
    Log,
    Prediction,
    SplitFiles,
    UsageError,
)

PARTS = {  # parts of an identity, and the message if one of them has changed
    "data_sha256": "its data files have changed",
    "encoder_fingerprint": "its encoder has changed",
    "words_sha256": "its word vectors have changed",
    "task_version": "the version of its task has changed",
    "numerics": "this version of elmo_bench computes different results",
}
FILES = ("words.file", "words.beside", "data.train", "data.dev", "data.test")  # settings that name one


@dataclass(frozen=True)
class Restored:
    """A run with everything that it needs to predict."""

    directory: Path
    record: Record
    config: RunConfig
    prepared: Prepared
    vocabularies: Vocabularies
    module: TaskModule

    @property
    def name(self) -> str:
        """The run in tables: its task and its directory."""
        return f"{self.record.task}/{self.directory.name}"

    def open(
        self,
        examples: Sequence[Example],
        everything: Sequence[Example],
        fingerprint: str,
        label: str,
        log: Log,
    ) -> PredictionBatches:
        """Examples of a file, indexed as in this run; the store is opened with the whole file."""
        task, context = self.prepared.task, self.config.encoder.context
        layers: LayerSource = no_layers
        if self.prepared.encoder is not None:
            read = self.prepared.layers
            store = build_store(self.config, self.prepared.encoder, read, read, log)
            check_documents(task, {"test": everything}, context, label)
            layers = store.open(fingerprint, texts_of(task, everything, context), label).batch
        indexed = number_examples(task, examples, self.vocabularies, context)
        return PredictionBatches(indexed, layers, self.config.task.training.batch_size)


class PredictionBatches(EvaluationBatches):
    """Batches of the run's batch size, with a progress bar if they take long."""

    def __iter__(self) -> Iterator[Batch]:
        with progress_bar(len(self), "batches", "predicting", delay=1) as bar:
            for batch in super().__iter__():
                yield batch
                bar.update()


def restore(directory: Path, paths: PathsConfig, log: Log) -> Restored:
    """The run of a directory; refused if any of its inputs has changed.

    A record may come from anybody, so this installation's paths replace those that it names.
    """
    result = directory / RUN_RECORD
    if not result.is_file():
        raise DataMissingError(f"{result}: no such record; expected the directory of a finished run")
    record = read_record(result)
    require_shape(result, record)
    weights = directory / WEIGHTS
    if not weights.is_file():
        raise DataMissingError(
            f"{weights}: the run's weights are missing; run the same command with force=true"
        )
    if hash_file(weights) != record.hashes.get(WEIGHTS):
        raise DamagedFileError(f"{weights}: changed after the run; run the same command with force=true")
    recorded = {**record.config, "paths": paths.model_dump()}
    read_config(RunConfig, recorded, "the run's config")  # names what is missing
    check_origin(result, record.config, paths)
    config = read_config(RunConfig, with_installed_task(recorded), "the run's config")
    if config.trainer.threads:
        torch.set_num_threads(config.trainer.threads)
    prepared = prepare(config, log)
    check_identity(result, record, prepared)
    training = read_examples(prepared.task, prepared.corpus)["train"]
    chosen = choose_examples("train", training, config.data, config.limit)
    vocabularies = build_vocabularies(config, prepared.task, chosen, log)
    module = build_module(config, prepared, vocabularies)
    try:
        module.load_state_dict(load_file(weights))
    except (SafetensorError, RuntimeError) as error:  # another program wrote the file and its hash
        reason = str(error).partition("\n")[0]
        raise DamagedFileError(f"{weights}: not the weights of this run's head: {reason}") from None
    return Restored(directory, record, config, prepared, vocabularies, module.eval())


def check_origin(result: Path, config: Mapping[str, Any], paths: PathsConfig) -> None:
    """Check that a run that was not executed here names no file outside of this installation's paths."""
    if result.resolve().is_relative_to(paths.runs.resolve()):
        return
    allowed = [directory.resolve() for directory in dict(paths).values()]
    for key, value in list_texts({name: config[name] for name in ("task", "encoder", "words", "data")}):
        path = Path(value)
        is_file = key in FILES or os.sep in value
        leads_away = path.is_absolute() or ".." in path.parts or (is_file and is_there(path))
        if leads_away and not any(path.resolve().is_relative_to(directory) for directory in allowed):
            raise UsageError(
                f"{result}: names a file outside of this installation's paths ({key}={value}), and the run "
                f"is not in paths.runs ({paths.runs}). If you trust it, give paths.runs=DIR of the directory "
                "that holds it"
            )


def list_texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in nested values, with its dotted key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from list_texts(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from list_texts(inner, key)


def is_there(path: Path) -> bool:
    """Whether a text names an existing file; most texts are no paths at all."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def with_installed_task(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a run with the installed code of its task, and settings younger than the run."""
    task = config["task"]
    if task["name"] not in list_tasks():
        return dict(config)
    installed = read_task(task["name"])
    settings = fill_in(task["settings"], installed.as_before)
    newer = {"plugin": installed.plugin, "settings": settings, "as_before": installed.as_before}
    return {**config, "task": {**task, **newer}}


def check_identity(result: Path, record: Record, prepared: Prepared) -> None:
    """Check that the inputs of the run are unchanged."""
    if prepared.condition == record.condition:
        return
    now, then = prepared.identity, record.identity
    changed = [why for part, why in PARTS.items() if now.get(part) != then.get(part)]
    reason = "; ".join(changed) or "its configuration is interpreted differently now"
    raise UsageError(f"{result}: cannot restore the run: {reason}. Restore the original, or run it again")


def read_file(run: Restored, paths: Sequence[Path], format_name: str | None) -> list[Example]:
    """The examples of a new file in one of the task's formats; ids are those of a test split."""
    for path in paths:
        if not path.is_file():
            raise DataMissingError(f"{path}: no such file")
    corpus = run.prepared.corpus.config
    files = SplitFiles("test", format_name or corpus.format, tuple(paths), corpus.options)
    examples: list[Example] = list(run.prepared.task.read(files))
    if not examples:
        raise DataError(f"{paths[0]}:1: expected at least one example, got none")
    return examples


def predict_file(
    run: Restored, paths: Sequence[Path], examples: Sequence[Example], log: Log
) -> list[Prediction]:
    """The predictions of the run's head for the examples of a file, computed as for its test set."""
    label = f"{run.record.task} {paths[0].name}"
    return predict(
        run.module, run.open(examples, examples, hash_files(paths), label, log), run.config.trainer
    )
