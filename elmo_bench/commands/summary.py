"""`python -m elmo_bench summary`: the published runs as one small table per task."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmo_bench.records import read_records
from elmo_bench.report.summary import summarise
from elmo_bench.types import DataMissingError

HELP = "mean, spread over seeds and paired gain of every published condition, task by task"
EXAMPLE = "python -m elmo_bench summary"


def configure(parser: argparse.ArgumentParser) -> None:
    """Where the records lie."""
    parser.add_argument("--records", type=Path, default=Path("results/records"), metavar="DIR")


def run(arguments: argparse.Namespace) -> None:
    """Print the tables."""
    records = [record for _, record in read_records(arguments.records)]
    if not records:
        raise DataMissingError(f"{arguments.records}: no records; python -m elmo_bench publish makes some")
    print(summarise(records))
