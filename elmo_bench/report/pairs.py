"""From what a person names to pairs of runs that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from elmo_bench.conditions import describe_condition, name_encoders
from elmo_bench.records import COUNTS, RUN_RECORD, Record, read_record
from elmo_bench.report.comparison import Pairs, Run, pair_seeds
from elmo_bench.report.shapes import require_shape
from elmo_bench.types import DataMissingError, UsageError

MUST_AGREE = ("task", "task_version", "metric")  # besides the test set itself


def gather(place: Path) -> dict[int, Run]:
    """The runs that a path selects, by seed."""
    files = find_records(place)
    if not files:
        raise DataMissingError(
            f"{place}: no record there; expected a run directory, a record file, a directory of runs of one "
            "condition, or the beginning of a condition such as results/records/ner/0123abcd4567"
        )
    runs = [read_run(file) for file in files]
    names = name_encoders(found.record for found in runs)
    conditions = {found.record.condition: describe_condition(found.record, names) for found in runs}
    if len(conditions) > 1:
        named = "; ".join(f"{name} ({what})" for name, what in sorted(conditions.items()))
        raise UsageError(f"{place}: expected the runs of one condition, got {len(conditions)}: {named}")
    return {found.seed: found for found in runs}


def read_run(file: Path) -> Run:
    """A run from its record, in its own directory or published."""
    counts = file.with_name(COUNTS) if file.name == RUN_RECORD else file.with_suffix(".npz")
    record = read_record(file)
    require_shape(file, record)
    return Run(record, counts)


def find_records(place: Path) -> list[Path]:
    """Record files at, below, or beginning with a path."""
    if place.is_file():
        return [place]
    if place.is_dir():
        own = place / RUN_RECORD
        return [own] if own.is_file() else find_many(place, "*")
    beginning = place.name.replace("[", "[[]")
    return find_many(place.parent, f"{beginning}*-s*")


def find_many(directory: Path, pattern: str) -> list[Path]:
    """The record files of run directories and of published runs."""
    runs = directory.glob(f"{pattern}/{RUN_RECORD}")
    current = [file for file in runs if not is_set_aside(file.parent)]
    return sorted([*current, *directory.glob(f"{pattern}.json")])


def is_set_aside(directory: Path) -> bool:
    """Whether a run was repeated with force=true, which keeps its old directory as <name>.<n>."""
    return "." in directory.name


def find_runs(directory: Path, task: str = "*") -> list[Path]:
    """The record files of every finished run below a directory of runs, of one task or of all."""
    return [file for place in sorted(directory.glob(task)) for file in find_many(place, "*")]


def pair_up(first: Mapping[int, Run], second: Mapping[int, Run], split: str) -> Pairs:
    """Pairs of runs on the same data: the same seeds, or two single runs whatever their seeds."""
    pairs = _pair_seeds(first, second)
    for one, other in pairs:
        require_comparable(one.record, other.record, split)
    return pairs


def _pair_seeds(first: Mapping[int, Run], second: Mapping[int, Run]) -> Pairs:
    if shared := pair_seeds(first, second):
        return shared
    if len(first) == len(second) == 1:
        return list(zip(first.values(), second.values(), strict=True))
    raise UsageError(
        f"A has the seeds {_listed(first)} and B {_listed(second)}: expected at least one that both have"
    )


def require_comparable(first: Record, second: Record, split: str) -> None:
    """Check that both sides have the same test data and the same scoring."""
    for name in MUST_AGREE:
        mine, other = getattr(first, name), getattr(second, name)
        if mine != other:
            raise UsageError(f"cannot be compared: {name} is {mine} in A and {other} in B")
    for side, record in (("A", first), ("B", second)):
        if split not in record.scores:
            raise UsageError(
                f"{side} was not scored on {split} (evaluate.splits=dev): compare with --split dev"
            )
    key = f"data/{split}"
    if first.hashes.get(key) != second.hashes.get(key):
        raise UsageError(
            f"cannot be compared: the {split} set is {_data(first, key)} in A and {_data(second, key)} in B"
        )
    if first.examples[split] != second.examples[split]:
        raise UsageError(
            f"cannot be compared: A was measured on {first.examples[split]} {split} examples and B on "
            f"{second.examples[split]} (limit)"
        )


def _data(record: Record, key: str) -> str:
    return f"{record.corpus} ({record.source}, sha256 {str(record.hashes.get(key))[:12]})"


def _listed(runs: Mapping[int, Run]) -> str:
    return ", ".join(map(str, sorted(runs)))


def choose_metric(pairs: Pairs, split: str, metric: str | None) -> str:
    """The metric asked for, or that of the task."""
    first, second = (run.record for run in pairs[0])
    chosen = metric or first.metric
    known = sorted(first.scores[split].keys() & second.scores[split].keys())
    if chosen not in known:
        raise UsageError(f"metric {chosen}: expected a score of both sides, one of {', '.join(known)}")
    return chosen
