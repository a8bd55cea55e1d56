"""`python -m elmo_bench validate`: find the errors of a run before it computes anything."""

from __future__ import annotations

import argparse

from elmo_bench.cli.overrides import take_overrides
from elmo_bench.config import RunConfig, read_config
from elmo_bench.types import log_to_stderr

HELP = """check the data, weights and configuration of one run of `python run.py` before any computing

It reads every file, scores the gold labels against themselves, compares labels and sizes, and builds the
head. With data=paper a warning names every input that replaces one of the paper's. The exit code is 0 if
there is no fault, else that of the first fault: 2 the command, 3 missing data, 1 the content of a file."""
EXAMPLE = (
    "python -m elmo_bench validate task=ner\n"
    "  python -m elmo_bench validate task=ner data=open encoder=small elmo.layers=2"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The overrides that run.py takes."""
    take_overrides(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print a description of every part of the run; the first fault decides the exit code."""
    from elmo_bench.sweep.compose import compose

    config = read_config(RunConfig, compose(arguments.overrides))
    from elmo_bench.runs.check import Inspection, find_substitutes

    if config.data.source == "paper":
        paper = read_config(RunConfig, compose([f"task={config.task.name}", "data=paper"]))
        for substitute in find_substitutes(config, paper):
            print(f"warning  {substitute}")
    results = Inspection(config, log_to_stderr).results()
    for result in results:
        for number, line in enumerate(result.lines):
            print(f"{'' if number else result.part:8} {line}")
        if result.error:
            print(f"{result.part:8} error: {result.error}")
    faults = [result for result in results if result.error]
    if faults:
        first = faults[0].error
        assert first is not None
        raise type(first)(
            f"{len(faults)} part(s) of this run cannot work: {', '.join(fault.part for fault in faults)}"
        )
    print("OK: no problems found")
