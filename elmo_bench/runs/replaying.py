"""Tell a tracker about a finished run what it would have been told while the run was trained."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from elmo_bench.config import PathsConfig
from elmo_bench.records import RUN_RECORD, Record, read_record
from elmo_bench.runs.tracked import describe_run, label_run, name_row, summarise_run, track_record
from elmo_bench.runs.tracking import Tracker
from elmo_bench.types import DataMissingError


@dataclass(frozen=True)
class FinishedRun:
    """A record, and the directory that a tracker may write to."""

    record: Record
    directory: Path
    paths: PathsConfig


def read_finished(place: Path, paths: PathsConfig) -> FinishedRun:
    """The run of a directory, or of a published record, which has no directory of its own."""
    file = place / RUN_RECORD if place.is_dir() else place
    if not file.is_file():
        raise DataMissingError(f"{place}: no such run; expected the directory of a finished run or a record")
    directory = place if place.is_dir() else paths.cache / "tracking" / place.stem
    directory.mkdir(parents=True, exist_ok=True)
    return FinishedRun(read_record(file), directory, paths)


def replay(run: FinishedRun, tracker: Tracker) -> None:
    """Start, every row of the learning curve, and the end."""
    record = run.record
    tracked = track_record(record, {"paths": run.paths.model_dump(), "tracking": {"kind": "off"}})
    label = replace(label_run(tracked), id=f"{record.task}-{record.condition}-s{record.seed}")
    with closing(tracker):
        tracker.start(label, {**describe_run(tracked), "sent": "later"})
        for row in record.curve:
            tracker.log(name_row(tracked, row))
        tracker.finish(summarise_run(record))
