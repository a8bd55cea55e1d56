"""`python -m elmo_bench report`: the paper's tables and figures from published records."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmo_bench.catalog import list_choices, list_findings, list_tables, list_tasks, read_task
from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.commands import spell_command, spell_run
from elmo_bench.files import write_atomically
from elmo_bench.report.assembly import assemble
from elmo_bench.report.comparison import Referee
from elmo_bench.report.formats import write_csv, write_latex, write_markdown
from elmo_bench.report.inputs import ReportInputs, describe_tasks
from elmo_bench.report.page import write_page
from elmo_bench.report.published import read_published
from elmo_bench.report.rows import write_runs
from elmo_bench.report.statistics import RESAMPLES
from elmo_bench.run.scores import find_scores
from elmo_bench.types import DataMissingError, UsageError

HELP = "write the paper's tables and figures from published records: Markdown, LaTeX, CSV and one HTML page"
EXAMPLE = "python -m elmo_bench report                           # results/TABLES.md, index.html and more"

LEAST_RESAMPLES = 100  # with fewer, a handful of values decide a 95 % interval


def configure(parser: argparse.ArgumentParser) -> None:
    """The output directory; paths.records=DIR names the directory of the records."""
    take_overrides(parser)
    parser.add_argument("--output", type=Path, default=Path("results"), metavar="DIR")
    add_resamples(parser)


def add_resamples(parser: argparse.ArgumentParser) -> None:
    """The option for the number of bootstrap resamples."""
    parser.add_argument(
        "--resamples",
        type=int,
        default=RESAMPLES,
        metavar="N",
        help="number of bootstrap resamples (default: %(default)s)",
    )


def read_resamples(arguments: argparse.Namespace) -> int:
    """The number of resamples, checked to suffice for intervals."""
    resamples: int = arguments.resamples
    if resamples < LEAST_RESAMPLES:
        raise UsageError(f"--resamples {resamples}: expected at least {LEAST_RESAMPLES}")
    return resamples


def run(arguments: argparse.Namespace) -> None:
    """Write the files, and print what a reader should know first."""
    resamples = read_resamples(arguments)
    directory = read_paths(arguments).records
    published = read_published(directory)
    if not published.runs:
        for problem in published.problems:
            print(f"warning: {problem}")
        raise DataMissingError(
            f"{directory}: no published runs there; {spell_run(['+experiment=table1'], sweep=True)} makes "
            f"some and {spell_command('publish')} puts them there"
        )
    records = [item.record for item in published.runs]
    scores, problems = find_scores(records)
    tables = list_tables()
    tasks, unclear = describe_tasks({name: read_task(name) for name in list_tasks()}, tables, records)
    referee = Referee(scores, resamples, problems=[*problems, *unclear])
    referee.check_unsealed(published.runs)
    sizes = frozenset(list_choices("size"))
    report = assemble(ReportInputs(published, referee, tables, tasks, list_findings(), sizes))
    for name, content in {
        "TABLES.md": write_markdown(report),
        "tables.tex": write_latex(report),
        "tables.csv": write_csv(report),
        "runs.csv": write_runs(records),
        "index.html": write_page(report),
    }.items():
        arguments.output.mkdir(parents=True, exist_ok=True)
        write_atomically(arguments.output / name, content.encode())
        print(arguments.output / name)
    for warning in report.warnings:
        print(f"warning: {warning}")
