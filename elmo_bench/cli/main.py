"""Find the command, run it, and turn errors into exit codes."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from elmo_bench.cli.overrides import options_with_values, split_overrides
from elmo_bench.commands import name_commands
from elmo_bench.config import nearest
from elmo_bench.directories import add_directory
from elmo_bench.files import describe_os_error
from elmo_bench.output import name_output
from elmo_bench.types import BenchError, InterruptedRunError, UsageError

LAUNCHERS = {  # Hydra parses their arguments, including --help
    "run": "one run, a sweep, or an experiment of the paper",
    "pretrain": "train a biLM, or continue one on the text of a task",
}
COMMANDS = {  # in the order of first use
    "tasks": "list the tasks, their corpora, and which of them are available",
    "prepare": "join a licensed download into the files that a task reads",
    "doctor": "check this machine and this installation, and suggest remedies",
    "validate": "check the data, weights and configuration of a run before any computing",
    "score": "compare predictions with gold exactly as a task's official scorer does",
    "conll": "write a run's coreference predictions as a CoNLL-2012 file, for the reference scorer",
    "embed": "write the vectors of a file of sentences",
    "neighbours": "nearest neighbours of a word in context, and in GloVe",
    "export": "write a biLM in the published layout, for bilm-tf, AllenNLP and simple_elmo",
    "predict": "apply a finished run to a new file",
    "ensemble": "score the mean of the probabilities of several runs",
    "publish": "copy records of finished runs to results/records",
    "summary": "published runs as a small table per task",
    "report": "the paper's tables and figures from published runs: Markdown, LaTeX, CSV, HTML",
    "findings": "the paper's findings, with the verdict of published runs on each",
    "compare": "paired tests of two runs or groups of runs",
    "examples": "where one run is right and another is wrong, in text",
    "choose": "the learning rate of every encoder, by dev scores alone",
    "dashboard": "the ablations as a workspace and a report of Weights & Biases",
    "track": "send finished runs to Weights & Biases",
    "store": "list or clean what the encoder has computed",
    "scale": "memory, disk and hours of the paper's sizes on this machine, from measured rates",
}

READER_HAS_ENDED = 141  # what a shell says of a program that SIGPIPE ended, such as Git


class CommandParser(argparse.ArgumentParser):
    """A parser whose help spells the commands as this installation needs them."""

    def format_help(self) -> str:
        return name_commands(super().format_help())


def start() -> int:
    """The entry point of `elmo-bench`."""
    return main(sys.argv[1:])


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        with name_output():
            return run_command(arguments)
    except (BenchError, InterruptedRunError) as error:
        print(f"error: {name_commands(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return InterruptedRunError.exit_code
    except BrokenPipeError:  # the program that reads our output has ended
        return READER_HAS_ENDED
    except OSError as error:  # a full disk, a directory without write permission
        print(f"error: {describe_os_error(error)}", file=sys.stderr)
        return BenchError.exit_code


def run_command(arguments: list[str]) -> int:
    """Import a command's module only when the command is run."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return 0 if arguments else UsageError.exit_code
    name, rest = arguments[0], arguments[1:]
    if name not in (known := [*LAUNCHERS, *COMMANDS]):
        raise UsageError(f"there is no command {name!r}{nearest(name, known)}\n\n{overview()}")
    if name in LAUNCHERS:
        return int(_module(name).launch(rest))
    _module(name).run(read_command(name, rest))
    return 0


def read_command(name: str, words: list[str]) -> argparse.Namespace:
    """The arguments of a command, which is not run."""
    command = _module(name)
    parser = CommandParser(
        prog=name_commands(f"python -m elmo_bench {name}"),
        description=command.HELP,
        epilog=f"example:\n  {command.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="your own tasks, encoders, corpora and experiments; may be repeated",
    )
    command.configure(parser)
    return read_arguments(parser, words)


def _module(name: str) -> Any:
    return importlib.import_module(f"elmo_bench.cli.{name}")


def read_arguments(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Parse a command line; overrides may stand anywhere in it."""
    if parser.get_default("overrides") is None:
        arguments = parser.parse_args(words)
    else:
        overrides, others = split_overrides(words, options_with_values(parser))
        arguments = parser.parse_args(others)
        arguments.overrides = overrides
    for directory in arguments.config_dir:
        add_directory(directory)
    return arguments


def overview() -> str:
    """The list of commands."""
    commands = LAUNCHERS | COMMANDS
    width = max(map(len, commands))
    lines = [f"  {name:{width}}  {what}" for name, what in commands.items()]
    text = "\n".join(
        [
            "usage: python -m elmo_bench COMMAND ...",
            "",
            *lines,
            "",
            "python -m elmo_bench COMMAND --help shows the help of a command.",
        ]
    )
    return name_commands(text)
