"""Find the command, run it, and turn what goes wrong into an exit code."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from elmo_bench.cli.overrides import split_overrides
from elmo_bench.config import nearest
from elmo_bench.directories import add_directory
from elmo_bench.types import BenchError, InterruptedRunError, UsageError

COMMANDS = {  # in the order people meet them
    "tasks": "what can be measured, on which data, and which of them are here",
    "doctor": "check this machine and this installation, and say what to do",
    "validate": "check the data, weights and configuration of a run before any computing",
    "score": "compare predictions with gold exactly as a task's official scorer does",
    "conll": "write a run's coreference predictions as a CoNLL-2012 file, for the reference scorer",
    "embed": "write the vectors of a file of sentences",
    "neighbours": "what is near a word in context, and in GloVe",
    "predict": "apply a finished run to a new file",
    "ensemble": "score the mean of the probabilities of several runs",
    "publish": "copy records of finished runs to results/records",
    "summary": "published runs as a small table per task",
    "report": "the paper's tables and figures from published runs: Markdown, LaTeX, CSV, one HTML page",
    "findings": "the paper's findings, and what published runs say of each",
    "compare": "paired tests of two runs or groups of runs",
    "dashboard": "the ablations as a workspace and a report of Weights & Biases",
    "store": "list or clean what the encoder has computed",
}


def main(arguments: list[str]) -> int:
    """Run one command; modules are imported only when their command is asked for."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return 0 if arguments else UsageError.exit_code
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        print(
            f"error: there is no command {name!r}{nearest(name, list(COMMANDS))}\n\n{overview()}",
            file=sys.stderr,
        )
        return UsageError.exit_code
    command = importlib.import_module(f"elmo_bench.cli.{name}")
    parser = argparse.ArgumentParser(
        prog=f"python -m elmo_bench {name}",
        description=command.HELP,
        epilog=f"example:\n  {command.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="your own tasks, encoders, corpora and experiments"
    )
    command.configure(parser)
    try:
        command.run(read_arguments(parser, rest))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return InterruptedRunError.exit_code
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return 0
    except OSError as error:  # a full disk, a place that cannot be written to
        print(f"error: {error}", file=sys.stderr)
        return BenchError.exit_code
    return 0


def read_arguments(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """The words of a command line; overrides may stand anywhere among them."""
    if parser.get_default("overrides") is None:
        arguments = parser.parse_args(words)
    else:
        overrides, others = split_overrides(words)
        arguments = parser.parse_args(others)
        arguments.overrides = overrides
    if arguments.config_dir:
        add_directory(arguments.config_dir)
    return arguments


def overview() -> str:
    """The list of commands."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            "usage: python -m elmo_bench COMMAND ...",
            "",
            *lines,
            "",
            "python -m elmo_bench COMMAND --help says more.",
        ]
    )
