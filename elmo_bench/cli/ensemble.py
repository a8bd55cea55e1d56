"""`python -m elmo_bench ensemble`: several runs as one model, by the mean of their probabilities."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.commands import spell_command
from elmo_bench.records import ENSEMBLE_RECORD
from elmo_bench.types import UsageError, log_to_stderr

HELP = """score the mean of the probabilities of several runs of one task on the same data; keep the record

The paper's ensembles (Tables 8 and 9) are computed in this way. A task whose head decodes whole structures,
such as NER with its CRF, has no probabilities to average and is refused."""
EXAMPLE = "python -m elmo_bench ensemble results/runs/snli/0123abcd4567-s*"


def configure(parser: argparse.ArgumentParser) -> None:
    """The runs and the output directory; paths.cache=DIR and so on where they were run with them."""
    take_overrides(parser)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="directories of finished runs")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="where predictions, counts and record go (default: a directory next to the first run)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the record of the ensemble, and print the scores of each run and of all together."""
    if len(set(arguments.runs)) != len(arguments.runs) or len(arguments.runs) < 2:
        raise UsageError(
            f"an ensemble is of two different runs or more, got {len(arguments.runs)} directories"
        )
    from elmo_bench.runs.ensemble import (
        check_members,
        check_output,
        name_ensemble,
        predict_together,
        splits_of,
        write_ensemble,
    )
    from elmo_bench.runs.restoration import restore

    paths = read_paths(arguments)
    runs = [restore(directory, paths, log_to_stderr) for directory in arguments.runs]
    check_members(runs)
    name = name_ensemble(runs)
    directory = arguments.output or runs[0].directory.parent / f"ensemble-{name}"
    check_output(directory, name)  # before minutes are spent
    splits = {split: predict_together(runs, split, log_to_stderr) for split in splits_of(runs)}
    record = write_ensemble(runs, splits, directory)
    rows = {run.name: member.scores for run, member in zip(runs, record.members, strict=True)}
    rows["ensemble"] = record.scores
    width = max(map(len, rows))
    print(f"{record.metric:{width}}  {'  '.join(f'{name:>6}' for name in splits)}")
    for name, scores in rows.items():
        print(f"{name:{width}}  {'  '.join(f'{scores[split][record.metric]:6.2f}' for split in splits)}")
    print(f"record: {directory / ENSEMBLE_RECORD}")
    print(f"keep it for tables: {spell_command('publish', [str(directory)])}")
