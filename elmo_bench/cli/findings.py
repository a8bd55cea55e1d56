"""`python -m elmo_bench findings`: the paper's findings, and whether published runs confirm them."""

from __future__ import annotations

import argparse
import json

from elmo_bench.catalog import list_findings, list_tables, list_tasks, read_task
from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.commands import spell_command
from elmo_bench.config import SOURCES
from elmo_bench.report.finding_rows import describe_findings, findings_as_json, write_findings
from elmo_bench.report.findings import judge_findings, list_sources
from elmo_bench.report.inputs import describe_tasks
from elmo_bench.report.published import GENERATED, read_published
from elmo_bench.runs.scores import build_referee
from elmo_bench.types import DamagedFileError, UsageError, log_to_stderr

HELP = """the paper's findings as claims, with the verdict of published runs on each: holds, contrary,
undetermined, not converged, or not run, with the command that makes the runs

The claims are files of conf/findings; --config-dir may add more. The exit code is 0 whatever the verdicts,
and 1 where records are broken."""
EXAMPLE = "python -m elmo_bench findings --source open\n  python -m elmo_bench findings --json"


def configure(parser: argparse.ArgumentParser) -> None:
    """The source; paths.records=DIR names the directory of the records."""
    take_overrides(parser)
    parser.add_argument(
        "--source", choices=SOURCES, help="source of the data (default: every source with published runs)"
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print everything as JSON, all digits")
    forms.add_argument(
        "--markdown", action="store_true", help="print the findings that have runs as a Markdown table"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the verdicts, then the broken records."""
    paths = read_paths(arguments)
    families = list_findings()
    if not families:
        raise UsageError("there are no findings: expected files conf/findings/<name>.yaml")
    if not paths.records.is_dir():
        log_to_stderr(
            f"{paths.records}: no such directory (paths.records); {spell_command('publish')} puts runs there"
        )
    published = read_published(paths.records)
    records = [item.record for item in published.runs]
    tasks, _ = describe_tasks({name: read_task(name) for name in list_tasks()}, list_tables(), records)
    referee = build_referee(records, paths)
    referee.check_unsealed(published.runs)
    sources = [arguments.source] if arguments.source else list_sources(published) or [GENERATED]
    judged = {source: judge_findings(families, published, referee, tasks, source) for source in sources}
    if arguments.json:
        rows = [row for found in judged.values() for row in findings_as_json(found)]
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    elif arguments.markdown:
        print("\n\n".join(write_findings(found) for found in judged.values()))
    else:
        is_asked_for = arguments.source is not None
        parts = [
            describe_findings(source, found, families, None if is_asked_for else arguments.overrides)
            for source, found in judged.items()
        ]
        print("\n\n".join(map("\n".join, parts)))
    if broken := [*published.broken, *referee.problems]:
        raise DamagedFileError("\n".join(["some records are broken, and no verdict uses them:", *broken]))
