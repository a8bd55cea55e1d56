"""`python -m elmo_bench report`: the paper's tables and figures from published records."""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import chain
from pathlib import Path

from elmo_bench.catalog import list_choices, list_findings, list_tables, list_tasks, read_task
from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.cli.resamples import add_resamples, read_resamples
from elmo_bench.commands import spell_command, spell_run
from elmo_bench.config import PathsConfig
from elmo_bench.extras import require_extra
from elmo_bench.files import write_atomically
from elmo_bench.report.assembly import assemble
from elmo_bench.report.comparison import Referee
from elmo_bench.report.detail_pages import DIRECTORY, remove_outdated, write_details
from elmo_bench.report.formats import write_csv, write_markdown
from elmo_bench.report.inputs import ReportInputs, describe_tasks
from elmo_bench.report.latex import write_latex
from elmo_bench.report.page import write_page
from elmo_bench.report.published import Published, read_published
from elmo_bench.report.rows import write_runs
from elmo_bench.runs.answers import AnswersAtHand, find_predictions, find_strange_predictions
from elmo_bench.runs.scores import DRAWN_SCORES, find_scores
from elmo_bench.types import DataMissingError

HELP = "write the paper's tables and figures from published records: Markdown, LaTeX, CSV and HTML"
EXAMPLE = "python -m elmo_bench report                           # results/TABLES.md, index.html and more"


def configure(parser: argparse.ArgumentParser) -> None:
    """The output directory; paths.records=DIR names the directory of the records."""
    take_overrides(parser)
    parser.add_argument(
        "--output", type=Path, default=Path("results"), metavar="DIR", help="where to (default: %(default)s)"
    )
    parser.add_argument(
        "--figures", type=Path, metavar="DIR", help="also write every figure as SVG and PDF, for a paper"
    )
    add_resamples(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the files, and print what a reader should know first."""
    resamples = read_resamples(arguments)
    if arguments.figures:
        require_extra("matplotlib", "--figures")
    paths = read_paths(arguments)
    published = with_predictions(read_published(paths.records), paths.runs)
    require_runs(published, paths.records)
    report = assemble(gather_inputs(published, paths, resamples))
    details = dict(write_details(report, arguments.output))
    for name, content in details.items():  # first: the page links to them
        write_atomically(arguments.output / DIRECTORY / name, content.encode())
    print(f"{arguments.output / DIRECTORY}: {len(details)} files")
    for name, content in {
        "TABLES.md": write_markdown(report),
        "tables.tex": write_latex(report),
        "tables.csv": write_csv(report),
        "runs.csv": write_runs(one.record for one in published.runs),
        "index.html": write_page(report),
    }.items():
        write_atomically(arguments.output / name, content.encode())
        print(arguments.output / name)
    remove_outdated(arguments.output / DIRECTORY, details)  # last: until now a page may have linked to them
    if arguments.figures:
        from elmo_bench.report.printed import write_figures

        print(f"{arguments.figures}: {len(write_figures(report, arguments.figures))} files")
    for warning in report.warnings:
        print(f"warning: {warning}")


def require_runs(published: Published, directory: Path) -> None:
    """Refuse a report without a run, after saying what is wrong with the records that are there."""
    if not published.runs:
        for problem in published.problems:
            print(f"warning: {problem}")
        raise DataMissingError(
            f"{directory}: no published runs there; {spell_run(['+experiment=table1'], sweep=True)} makes "
            f"some and {spell_command('publish')} puts them there"
        )


def gather_inputs(published: Published, paths: PathsConfig, resamples: int) -> ReportInputs:
    """The published runs with the tables, tasks and findings that are described here, and the tests."""
    records = [item.record for item in published.runs]
    scores, problems = find_scores(records)
    tables = list_tables()
    tasks, unclear = describe_tasks({name: read_task(name) for name in list_tasks()}, tables, records)
    strange = chain.from_iterable(find_strange_predictions(one, "test", paths.runs) for one in published.runs)
    problems = [*problems, *unclear, *strange]
    referee = Referee(scores, resamples, problems=problems, cache=paths.cache / DRAWN_SCORES)
    referee.check_unsealed(published.runs)
    sizes = frozenset(list_choices("size"))
    inputs = ReportInputs(published, referee, tables, tasks, list_findings(), sizes)
    inputs.answers = AnswersAtHand(paths, referee.problems)
    return inputs


def with_predictions(published: Published, runs: Path) -> Published:
    """The records with the files of predictions that are at hand, beside them or among the runs."""
    found = (replace(run, predictions=find_predictions(run, "test", runs)) for run in published.runs)
    return replace(published, runs=tuple(found))
