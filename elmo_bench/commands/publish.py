"""`python -m elmo_bench publish`: finished runs become records that are kept and committed."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmo_bench.files import write_atomically
from elmo_bench.fingerprint import hash_file
from elmo_bench.records import Record, read_record, write_record
from elmo_bench.types import DamagedFileError, DataMissingError, UsageError

HELP = "copy the record and counts of finished runs to results/records; what is there already is kept"
EXAMPLE = (
    "python -m elmo_bench publish                          # every finished run\n"
    "  python -m elmo_bench publish results/runs/ner/0123abcd4567-s1"
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="run directories; all of --from by default"
    )
    parser.add_argument("--from", dest="source", type=Path, default=Path("results/runs"), metavar="DIR")
    parser.add_argument("--to", dest="target", type=Path, default=Path("results/records"), metavar="DIR")


def run(arguments: argparse.Namespace) -> None:
    """Publish, and say what was new, known or left out."""
    named = [directory / "result.json" for directory in arguments.runs]
    results = named or sorted(arguments.source.glob("*/*/result.json"))
    if not results:
        raise DataMissingError(
            f"{arguments.source}: no finished runs there; python run.py task=ner makes one"
        )
    new = known = tried_out = 0
    for result in results:
        if not result.is_file():
            raise DataMissingError(f"{result}: no such record; expected the directory of a finished run")
        record = read_record(result)
        if record.debug:
            if named:
                raise UsageError(
                    f"{result.parent}: tried out on a few examples (limit or debug), never published"
                )
            tried_out += 1
        elif publish(result, record, arguments.target):
            new += 1
        else:
            known += 1
    left_out = f", {tried_out} tried out on a few examples and left out" if tried_out else ""
    print(f"{arguments.target}: {new} new, {known} there already{left_out}")


def publish(result: Path, record: Record, target: Path) -> bool:
    """Copy one run's record and counts; false where that run is published already."""
    counts = result.with_name("counts.npz")
    if hash_file(counts) != record.hashes["counts.npz"]:
        raise DamagedFileError(f"{counts}: not what the run wrote; run the same command with force=true")
    stem = target / record.task / f"{record.condition}-s{record.seed}"
    if stem.with_suffix(".json").exists():
        return False
    write_atomically(stem.with_suffix(".npz"), counts.read_bytes())
    # Where things lay on one machine is of no use to others.
    config = {key: value for key, value in record.config.items() if key != "paths"}
    write_record(stem.with_suffix(".json"), record.model_copy(update={"config": config}))
    return True
