"""`python -m elmo_bench ensemble`: several runs as one model, by the mean of their probabilities."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmo_bench.cli.overrides import read_moved, take_overrides
from elmo_bench.records import write_predictions
from elmo_bench.types import UsageError, say_on_stderr

HELP = """score the mean of the probabilities of several runs of one task on the same data

The paper's ensembles (Tables 8 and 9) are of this kind. Tasks whose head decodes whole structures, such as
NER with its CRF, have no probabilities to average and say so."""
EXAMPLE = "python -m elmo_bench ensemble results/runs/snli/0123abcd4567-s*"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which runs, and where the predictions go; paths.data=DIR and so on where their files have moved."""
    take_overrides(parser)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="directories of finished runs")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="write predictions-dev.jsonl and predictions-test.jsonl there",
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the scores of each run and of all together."""
    if len(set(arguments.runs)) != len(arguments.runs) or len(arguments.runs) < 2:
        raise UsageError(
            f"an ensemble is of two different runs or more, got {len(arguments.runs)} directories"
        )
    from elmo_bench.run.ensemble import SPLITS, check_members, predict_together, score
    from elmo_bench.run.restoration import restore

    places = read_moved(arguments)
    runs = [restore(directory, places, say_on_stderr) for directory in arguments.runs]
    check_members(runs)
    metric = runs[0].prepared.task.metric
    rows = {run.name: dict[str, float]() for run in runs} | {"ensemble": {}}
    for name in SPLITS:
        split = predict_together(runs, name, say_on_stderr)
        for run, predictions in zip(runs, split.members, strict=True):
            rows[run.name][name] = score(run, split, predictions)[metric]
        rows["ensemble"][name] = score(runs[0], split, split.together)[metric]
        if arguments.output:
            ids = [example.id for example in split.examples]
            target = arguments.output / f"predictions-{name}.jsonl"
            write_predictions(target, zip(ids, split.together, strict=True))
    width = max(map(len, rows))
    print(f"{metric:{width}}  {'  '.join(f'{name:>6}' for name in SPLITS)}")
    for name, scores in rows.items():
        print(f"{name:{width}}  {'  '.join(f'{scores[split]:6.2f}' for split in SPLITS)}")
