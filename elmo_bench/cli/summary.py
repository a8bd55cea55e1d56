"""`python -m elmo_bench summary`: the published runs as one small table per task."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmo_bench.records import read_records
from elmo_bench.report.summary import summarise
from elmo_bench.types import DataMissingError

HELP = "mean, spread over seeds and paired gain of every published condition, task by task"
EXAMPLE = "python -m elmo_bench summary --source open --task ner"


def configure(parser: argparse.ArgumentParser) -> None:
    """Where the records lie, and which of them."""
    parser.add_argument("--records", type=Path, default=Path("results/records"), metavar="DIR")
    parser.add_argument("--task", help="of this task alone")
    parser.add_argument("--source", help="on data of this source alone: sample, open, paper or files")


def run(arguments: argparse.Namespace) -> None:
    """Print the tables."""
    wanted = {name: value for name in ("task", "source") if (value := getattr(arguments, name))}
    records = [
        record
        for _, record in read_records(arguments.records)
        if all(getattr(record, name) == value for name, value in wanted.items())
    ]
    if not records:
        which = " with " + " and ".join(f"{n} {v}" for n, v in wanted.items()) if wanted else ""
        raise DataMissingError(
            f"{arguments.records}: no records{which}; python -m elmo_bench publish makes some"
        )
    print(summarise(records))
