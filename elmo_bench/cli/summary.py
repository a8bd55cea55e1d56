"""`python -m elmo_bench summary`: the published runs as one small table per task."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.commands import spell_command
from elmo_bench.config import SOURCES
from elmo_bench.files import write_atomically
from elmo_bench.report.comparison import Referee
from elmo_bench.report.gains import draw_gains, find_gains, write_gains
from elmo_bench.report.published import read_published
from elmo_bench.report.summary import summarise
from elmo_bench.runs.scores import build_referee
from elmo_bench.types import DataMissingError, UsageError, log_to_stderr

HELP = "mean, spread over seeds and paired gain of every published condition, task by task"
EXAMPLE = "python -m elmo_bench summary --source open --task ner"


def configure(parser: argparse.ArgumentParser) -> None:
    """The records to show; paths.records=DIR names their directory."""
    take_overrides(parser)
    parser.add_argument("--task", help="show only this task")
    parser.add_argument("--source", choices=SOURCES, help="show only data of this source")
    parser.add_argument(
        "--gains",
        action="store_true",
        help="print one Markdown row per task: the gain of the paper's ELMo setting",
    )
    parser.add_argument("--figure", type=Path, metavar="FILE", help="with --gains: also draw them as SVG")


def run(arguments: argparse.Namespace) -> None:
    """Print the tables."""
    if arguments.gains:
        print_gains(arguments)
        return
    if arguments.figure:
        raise UsageError("--figure: needs --gains, which it draws")
    wanted = {name: value for name in ("task", "source") if (value := getattr(arguments, name))}
    paths = read_paths(arguments)
    published = read_published(paths.records)
    runs = [
        run
        for run in published.runs
        if all(getattr(run.record, name) == value for name, value in wanted.items())
    ]
    for problem in published.broken:
        log_to_stderr(f"warning: {problem}")
    if not runs:
        which = " with " + " and ".join(f"{n} {v}" for n, v in wanted.items()) if wanted else ""
        found = {name: sorted({str(getattr(run.record, name)) for run in published.runs}) for name in wanted}
        known = "".join(
            f"; there are of {name}: {', '.join(values)}" for name, values in found.items() if values
        )
        raise DataMissingError(
            f"{paths.records}: no records{which}{known}; {spell_command('publish')} makes some"
        )
    referee = build_referee([run.record for run in published.runs], paths)
    print(summarise(runs, referee))
    warn(referee)


def print_gains(arguments: argparse.Namespace) -> None:
    """Print the gains of one source, and draw them if a file is named."""
    if not arguments.source or arguments.task:
        raise UsageError(
            "--gains: needs --source and takes no --task; the gains of a source are shown together"
        )
    paths = read_paths(arguments)
    published = read_published(paths.records)
    referee = build_referee([run.record for run in published.runs], paths)
    gains = find_gains(published, arguments.source, referee)
    warn(referee)
    if not gains:
        sources = sorted({run.record.source for run in published.runs})
        known = f"; there are records of source: {', '.join(sources)}" if sources else ""
        raise DataMissingError(
            f"{paths.records}: no task has published runs with and without ELMo on source "
            f"{arguments.source}{known}; {spell_command('publish')} copies finished runs there"
        )
    if arguments.figure:
        write_atomically(arguments.figure, draw_gains(gains, f"{arguments.source} data").encode())
    print(write_gains(gains))


def warn(referee: Referee) -> None:
    """Say which runs have no tests."""
    for problem in referee.problems:
        log_to_stderr(f"warning: {problem}")
