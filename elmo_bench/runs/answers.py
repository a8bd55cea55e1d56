"""What runs answered, from their files of predictions and the examples of their corpora."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elmo_bench.config import DataConfig, PathsConfig, read_config
from elmo_bench.hashing import hash_file
from elmo_bench.plugins import load_task
from elmo_bench.records import RUN_RECORD, Record, predictions_file
from elmo_bench.report.comparison import Run
from elmo_bench.report.examples import Answered, Answers
from elmo_bench.runs.scores import installed_task
from elmo_bench.runs.selection import choose_examples, read_examples
from elmo_bench.sources import prepare
from elmo_bench.task import AnyTask, Example
from elmo_bench.types import (
    BenchError,
    DamagedFileError,
    DataMissingError,
    Log,
    Prediction,
    UsageError,
    log_to_stderr,
)


@dataclass
class AnswersAtHand:
    """The answers of runs to their test sets, each file read once; why not is noted."""

    paths: PathsConfig
    problems: list[str]
    read: dict[Path, Answers | None] = field(default_factory=dict)

    def __call__(self, run: Run) -> Answers | None:
        """What a run answered; nothing where its predictions or its corpus are not at hand."""
        if run.predictions is None:
            return None
        if run.predictions not in self.read:
            self.read[run.predictions] = self._read(run, run.predictions)
        return self.read[run.predictions]

    def _read(self, run: Run, predictions: Path) -> Answers | None:
        try:
            return read_answers(run, predictions, "test", self.paths, log_to_stderr)
        except BenchError as error:
            self.problems.append(f"{predictions}: no examples from it: {error}")
            return None


def find_predictions(run: Run, split: str, runs: Path) -> Path | None:
    """The file of a run's predictions: beside its record, or in the directory of the run; else nothing."""
    return next((path for path in places_of(run, split, runs) if is_of(path, run.record, split)), None)


def find_strange_predictions(run: Run, split: str, runs: Path) -> list[str]:
    """What stands in the place of a run's predictions and is something else."""
    return [
        f"{path}: not the predictions of its record, and not read; publish the run again"
        for path in places_of(run, split, runs)
        if os.path.lexists(path) and not is_of(path, run.record, split)
    ]


def places_of(run: Run, split: str, runs: Path) -> list[Path]:
    """Where a run's predictions may lie."""
    record, name = run.record, predictions_file(split)
    own = runs / record.task / f"{record.condition}-s{record.seed}"
    if run.counts.with_name(RUN_RECORD).is_file():
        return [run.counts.with_name(name)]
    return [run.counts.with_suffix(f".{name}"), own / name]


def is_of(path: Path, record: Record, split: str) -> bool:
    """Whether a file has the predictions that a record is of."""
    return path.is_file() and hash_file(path) == record.hashes.get(predictions_file(split))


def require_predictions(run: Run, split: str, runs: Path) -> Path:
    """The file of a run's predictions; where there is none, the error says where it was looked for."""
    if found := find_predictions(run, split, runs):
        return found
    places = places_of(run, split, runs)
    damaged = next((path for path in places if path.is_file()), None)
    if damaged:
        raise DamagedFileError(f"{damaged}: not the predictions of its record; run it again with force=true")
    looked = " and ".join(map(str, places))
    raise DataMissingError(
        f"{run.record.task} {run.record.condition}, seed {run.seed}: its predictions are not at hand; looked "
        f"for {looked}. Published records have predictions for the generated world only; make the run again, "
        "or give the directory of the run"
    )


def read_answers(run: Run, predictions: Path, split: str, paths: PathsConfig, log: Log) -> Answers:
    """Every example of a split with its text, the gold answers and those of a run."""
    task, examples = read_split(run.record, split, paths, log)
    found = _read_predictions(predictions)
    if list(found) != [example.id for example in examples]:
        raise DamagedFileError(
            f"{predictions}: its ids are not those of the {split} examples, in their order"
        )
    answered = tuple(_answered(task, example, found[example.id]) for example in examples)
    return Answers(answered, task.answers_are_labels)


def read_split(record: Record, split: str, paths: PathsConfig, log: Log) -> tuple[AnyTask, list[Example]]:
    """The examples that a run was measured on; refused if the file has changed since."""
    config = installed_task(record)
    task = load_task(config)
    corpus = prepare(config, _data_of(record), paths, log)
    if corpus.fingerprints()[split] != record.hashes.get(f"data/{split}"):
        raise UsageError(f"{record.task}, {corpus.name}: the {split} file is not the one of the run's record")
    whole = read_examples(task, corpus)[split]
    return task, choose_examples(split, whole, _data_of(record), record.identity.get("limit"))


def _data_of(record: Record) -> DataConfig:
    """What a record says of its data, as far as it chooses files."""
    recorded: dict[str, Any] = record.config.get("data", {})
    known = {
        key: recorded[key] for key in ("format", "repository", "train", "dev", "test") if recorded.get(key)
    }
    corpus = {} if record.source == "files" else {"corpus": record.corpus}
    return read_config(DataConfig, {"source": record.source, **corpus, **known}, "the run's data")


def _read_predictions(path: Path) -> dict[str, Prediction]:
    """Predictions by id; the file is that of a record, by its hash."""
    # JSON leaves U+2028 and the like as they are, at which str.splitlines would split, too.
    rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    return {row["id"]: row["prediction"] for row in rows}


def _answered(task: AnyTask, example: Example, prediction: Prediction) -> Answered:
    sentences = task.sentences(example)
    text = tuple(
        f"{stream}: {' '.join(words)}" if len(sentences) > 1 else " ".join(words)
        for stream, rows in sentences.items()
        for words in rows
    )
    gold = task.answers(example, task.gold(example))
    return Answered(example.id, text, gold, task.answers(example, prediction))
