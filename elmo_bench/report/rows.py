"""Runs as rows of plain values: runs.csv, and the data frame of a notebook."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable

from elmo_bench.conditions import describe_condition, name_encoders
from elmo_bench.records import Record
from elmo_bench.report.convergence import met_cap
from elmo_bench.report.differences import distinguish
from elmo_bench.report.formats import escape_csv

Value = str | int | float | bool | None
SCOPE = ("task", "source", "corpus", "size", "fraction", "encoder")  # what a row says beside its description


def rows_of(records: Iterable[Record]) -> list[dict[str, Value]]:
    """One row per run; the keys are the same in all of them."""
    known = list(records)
    names = name_encoders(known)
    rows = [_row_of(record, names) for record in known]
    # Runs of one description are one condition: a mean over them must not mix, say, two types of the store.
    groups: dict[tuple[Value, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[tuple(row[key] for key in SCOPE)].append(number)
    for numbers in groups.values():
        described = [str(rows[number]["description"]) for number in numbers]
        distinct = distinguish(described, [known[number] for number in numbers])
        for number, description in zip(numbers, distinct, strict=True):
            rows[number]["description"] = description
    return rows


def _row_of(record: Record, names: dict[str, str]) -> dict[str, Value]:
    elmo, environment = record.identity["elmo"], record.environment
    return {
        "task": record.task,
        "source": record.source,
        "corpus": record.corpus,
        "size": record.size,
        "fraction": record.identity["data"]["fraction"],
        "encoder": None if elmo["where"] == "none" else names.get(record.identity["encoder_fingerprint"]),
        "where": elmo["where"],
        "layers": _text(elmo.get("layers")),
        "lambda": elmo.get("lambda"),
        "description": describe_condition(record, names),
        "condition": record.condition,
        "seed": record.seed,
        "metric": record.metric,
        "dev": _score(record, "dev"),
        "test": _score(record, "test"),
        "converged": not met_cap(record),
        "stopped": record.stopped,
        "updates": record.updates,
        "best_epoch": record.best_epoch,
        "parameters": sum(record.parameters.values()),
        "training_seconds": record.seconds.get("fitting"),
        "numerics": record.identity["numerics"],
        "commit": environment.get("commit"),
        "dirty": environment.get("dirty"),
        "version": environment.get("version"),
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _score(record: Record, split: str) -> float | None:
    return record.scores.get(split, {}).get(record.metric)


def write_runs(records: Iterable[Record]) -> str:
    """runs.csv: one line per run, with all digits."""
    rows = rows_of(records)
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return file.getvalue()


def _cell(value: Value) -> Value:
    return escape_csv(value) if isinstance(value, str) else value
