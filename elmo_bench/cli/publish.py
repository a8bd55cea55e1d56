"""`python -m elmo_bench publish`: copy the records of finished runs to the directory that is committed."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from elmo_bench.bilm.trained import RECORD_FILE
from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.commands import spell_run
from elmo_bench.files import write_atomically
from elmo_bench.hashing import hash_file
from elmo_bench.records import (
    COUNTS,
    ENSEMBLE_RECORD,
    RUN_RECORD,
    EnsembleRecord,
    PerplexityRecord,
    PretrainingRecord,
    Record,
    drop_directories,
    keep_sound,
    predictions_file,
    read_model_record,
    read_record,
    read_record_of,
    write_record,
)
from elmo_bench.report.pairs import is_set_aside
from elmo_bench.report.published import GENERATED
from elmo_bench.types import DamagedFileError, DataMissingError, UsageError

HELP = """copy what finished runs and trained models left behind to results/records; what is there is kept

Of a run or an ensemble its record and counts (of the generated world also predictions), of a biLM its
perplexities."""
EXAMPLE = (
    "python -m elmo_bench publish                          # every finished run and trained model\n"
    "  python -m elmo_bench publish results/runs/ner/0123abcd4567-s1\n"
    "  python -m elmo_bench publish results/models/small-ner-wikigold"
)


@dataclass(frozen=True)
class Finished:
    """The record of a run, an ensemble or a trained model, and where it lies."""

    path: Path
    record: Record | EnsembleRecord | PretrainingRecord | PerplexityRecord


def configure(parser: argparse.ArgumentParser) -> None:
    """What to publish: from paths.runs and paths.models to paths.records."""
    take_overrides(parser)
    parser.add_argument(
        "places",
        nargs="*",
        type=Path,
        metavar="PLACE",
        help="directories of runs or models (default: all in paths.runs and paths.models)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Publish, and print how many records were new, known or left out; damaged ones are named at the end."""
    paths = read_paths(arguments)
    damaged: list[str] = []
    if arguments.places:
        finished = list(keep_sound(read_finished, arguments.places, damaged))
    else:
        finished = find_finished(paths.runs, paths.models, damaged)
        if not finished and not damaged:
            raise DataMissingError(
                f"{paths.runs}: no finished runs there; {spell_run(['task=ner'])} makes one"
            )
    left = [(item, reason) for item in finished if (reason := item.record.unpublishable)]
    if left and arguments.places:
        raise UsageError(f"{left[0][0].path.parent}: {left[0][1]}, never published")
    kept = [item for item in finished if not item.record.unpublishable]
    new = list(keep_sound(partial(publish, target=paths.records), kept, damaged))
    reasons = Counter(reason for _, reason in left)
    left_out = "".join(f", {count} left out: {reason}" for reason, count in reasons.items())
    print(f"{paths.records}: {sum(new)} new, {len(new) - sum(new)} there already{left_out}")
    if damaged:
        raise DamagedFileError("\n".join([*damaged, f"{len(damaged)} damaged, not published; see above"]))


def find_finished(runs: Path, models: Path, damaged: list[str]) -> list[Finished]:
    """Every finished run, every ensemble, and every trained model; `damaged` gets the reasons of others."""
    current = [path for path in runs.glob("*/*") if not is_set_aside(path)]
    found = list(keep_sound(read_run, find_all(RUN_RECORD, current), damaged))
    found += keep_sound(read_ensemble, find_all(ENSEMBLE_RECORD, runs.glob("*/*")), damaged)
    trained = keep_sound(read_model, find_all(RECORD_FILE, models.glob("*")), damaged)
    return [*found, *(model for model in trained if model)]


def find_all(name: str, directories: Iterable[Path]) -> list[Path]:
    """The files of a name; whatever stands in the place of one is among them, so that reading it names it."""
    return [path / name for path in sorted(directories) if os.path.lexists(path / name)]


def read_finished(directory: Path) -> Finished:
    """The record in a directory that was named."""
    if (directory / RUN_RECORD).is_file():
        return read_run(directory / RUN_RECORD)
    if (directory / ENSEMBLE_RECORD).is_file():
        return read_ensemble(directory / ENSEMBLE_RECORD)
    if not (directory / RECORD_FILE).is_file():
        raise DataMissingError(
            f"{directory / RUN_RECORD}: no such record; expected the directory of a finished run"
        )
    model = read_model(directory / RECORD_FILE)
    if model is None:
        raise UsageError(
            f"{directory}: this model is not trained to its end; repeat the pretrain.py command that "
            "trains it, which resumes, and then publish"
        )
    return model


def read_run(path: Path) -> Finished:
    """A run by the path of its record."""
    return Finished(path, read_record(path))


def read_model(path: Path) -> Finished | None:
    """A trained model by the path of its record; None if its training has not ended."""
    record = read_model_record(path)
    return Finished(path, record) if record else None


def read_ensemble(path: Path) -> Finished:
    """An ensemble by the path of its record."""
    return Finished(path, read_record_of(EnsembleRecord, path))


def publish(item: Finished, target: Path) -> bool:
    """Copy one record; false if it is published already."""
    if isinstance(item.record, Record):
        return publish_run(item.path, item.record, target)
    if isinstance(item.record, EnsembleRecord):
        stem = target / item.record.task / f"ensemble-{item.record.name}"
        return copy_with_files(item.path, item.record, stem, {COUNTS: stem.with_suffix(".npz")})
    path = target / item.record.kind / f"{item.path.parent.name}-{item.record.identity[:12]}.json"
    if path.exists():
        return False
    write_record(path, item.record)
    return True


def publish_run(result: Path, record: Record, target: Path) -> bool:
    """Copy one run's record and counts; where things lay on one machine is of no use to others."""
    config = drop_directories({key: value for key, value in record.config.items() if key != "paths"})
    stem = target / record.task / f"{record.condition}-s{record.seed}"
    files = {COUNTS: stem.with_suffix(".npz")}
    predictions = predictions_file("test")
    if record.source == GENERATED and os.path.lexists(result.with_name(predictions)):
        # Of other corpora they are not published: that would be their text.
        files[predictions] = stem.with_suffix(f".{predictions}")
    return copy_with_files(result, record.model_copy(update={"config": config}), stem, files)


def copy_with_files(
    source: Path, record: Record | EnsembleRecord, stem: Path, files: Mapping[str, Path]
) -> bool:
    """Copy a record and files beside it; false where they are published already.

    The record is written last, so that a command that was killed copies again.
    """
    for name in files:
        if problem := find_problem(source.with_name(name), record.hashes.get(name)):
            raise DamagedFileError(
                f"{source.with_name(name)}: {problem} in {source.name}; make it again (a run: with "
                "force=true)"
            )
    if stem.with_suffix(".json").exists():
        return False
    for name, target in files.items():
        write_atomically(target, source.with_name(name).read_bytes())
    write_record(stem.with_suffix(".json"), record)
    return True


def find_problem(file: Path, expected: str | None) -> str | None:
    """Why a file cannot be published; records from before there were hashes have none."""
    if not file.is_file():  # a directory, a link to nowhere, a pipe
        return "not the file whose hash is"
    is_damaged = expected is not None and hash_file(file) != expected
    return "differs from its hash" if is_damaged else None
