"""`python -m elmo_bench choose`: the learning rate of every encoder, by dev scores alone."""

from __future__ import annotations

import argparse
import json

from elmo_bench.catalog import list_tasks
from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.commands import spell_run
from elmo_bench.config import nearest
from elmo_bench.records import keep_sound, read_record
from elmo_bench.report.pairs import find_runs
from elmo_bench.report.rates import describe_rates, find_rates, rates_as_json
from elmo_bench.types import DamagedFileError, DataMissingError, UsageError

HELP = """the best learning rate of every encoder and of the baseline, task by task

It reads runs that have never opened the test file (evaluate.splits=dev), such as those of the experiment
`rates`. The highest mean dev score over the seeds decides."""
EXAMPLE = "python -m elmo_bench choose --task ner        # after: python run.py -m +experiment=rates task=ner"


def configure(parser: argparse.ArgumentParser) -> None:
    """The task; paths.runs=DIR names the directory of the runs."""
    take_overrides(parser)
    parser.add_argument("--task", help="only this task")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, all digits")


def run(arguments: argparse.Namespace) -> None:
    """Print the choices with the commands of the final runs."""
    if arguments.task and arguments.task not in (known := list_tasks()):
        raise UsageError(f"--task {arguments.task}: there is no such task{nearest(arguments.task, known)}")
    directory = read_paths(arguments).runs
    damaged: list[str] = []
    found = find_rates(keep_sound(read_record, find_runs(directory, arguments.task or "*"), damaged))
    if not found and not damaged:
        raise DataMissingError(
            f"{directory}: no runs at several learning rates without test data there; "
            f"{spell_run(['+experiment=rates'], sweep=True)} makes them"
        )
    if arguments.json:
        print(json.dumps([choice for task in found for choice in rates_as_json(task)], indent=1))
    elif found:
        print("\n\n".join(map(describe_rates, found)))
    if damaged:
        raise DamagedFileError("\n".join([*damaged, f"{len(damaged)} damaged, not among the choices above"]))
