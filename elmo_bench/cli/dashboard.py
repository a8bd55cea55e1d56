"""`python -m elmo_bench dashboard`: the ablations in Weights & Biases."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from elmo_bench.config import SOURCES
from elmo_bench.files import write_atomically

HELP = """build the workspace and the report of the ablations in Weights & Biases

A section for every experiment that shows runs in a table or figure, and the learning curves; runs with
tracking=wandb fill them. Without an account, or offline, it prints what it would build and sends nothing;
--output writes the specification to a file."""
EXAMPLE = (
    "python -m elmo_bench dashboard --entity me --project elmo_bench\n"
    "  python -m elmo_bench dashboard --offline --output dashboard.json"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The W&B entity and project, and the file of the specification."""
    parser.add_argument("--entity", help="the W&B entity that owns the project (default: yours)")
    parser.add_argument("--project", default="elmo_bench", help="as tracking.project (default: %(default)s)")
    parser.add_argument(
        "--source", choices=SOURCES, default="sample", help="source of the runs' data (default: %(default)s)"
    )
    parser.add_argument("--size", help="size of the runs (default: any)")
    parser.add_argument("--offline", action="store_true", help="send nothing")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write the specification here if nothing is sent",
    )


def run(arguments: argparse.Namespace) -> None:
    """Save workspace and report, or write their specification to a file."""
    from elmo_bench.catalog import list_tables, list_tasks, read_task
    from elmo_bench.dashboard.building import Project, describe, specify
    from elmo_bench.dashboard.plan import plan_dashboard
    from elmo_bench.sources import list_corpora

    project = Project(arguments.entity or "", arguments.project, arguments.source, arguments.size)
    corpora = list_corpora([read_task(name) for name in list_tasks()], arguments.source)
    sections = plan_dashboard(list_tables(), arguments.source, corpora)
    reason = find_reason_to_stay_offline(arguments)
    if not reason:
        from elmo_bench.dashboard.saving import save

        for url in save(project, sections):
            print(url)
        return
    print("\n".join(describe(sections)))
    print(f"\nnothing was sent: {reason}")
    if arguments.output:
        content = json.dumps(specify(project, sections), indent=1) + "\n"
        write_atomically(arguments.output, content.encode())
        print(f"the specification is in {arguments.output}")


def find_reason_to_stay_offline(arguments: argparse.Namespace) -> str:
    """Why nothing is to be sent; empty if it is sent."""
    from elmo_bench.runs.tracking import has_wandb_key

    if arguments.offline:
        return "--offline was given"
    if (mode := os.environ.get("WANDB_MODE")) in ("offline", "disabled"):
        return f"WANDB_MODE={mode}"
    return "" if has_wandb_key() else "no W&B key is configured (wandb login)"
