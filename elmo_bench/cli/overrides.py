"""Overrides on the command line of every command: the same words as for run.py, such as paths.records=DIR."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

from elmo_bench.config import PathsConfig

OVERRIDE = re.compile(r"(\+{0,2}[A-Za-z_][\w@./]*=|~[A-Za-z_][\w@./]*)")

DIRECTORIES = {  # by source: the path of its corpora, and how to change it
    "open": ("data", "ELMO_BENCH_DATA=DIR or paths.data=DIR"),
    "paper": ("local", "paths.local=DIR"),
}


def take_overrides(parser: argparse.ArgumentParser) -> None:
    """Document overrides in a command's help; `main` removes them before argparse parses the rest."""
    parser.set_defaults(overrides=[])
    parser.epilog = (
        "KEY=VALUE overrides the configuration as for `python run.py`, such as paths.records=DIR\n\n"
        f"{parser.epilog}"
    )


def split_overrides(words: Sequence[str], valued: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Split a command line into overrides and other arguments.

    An existing file is no override, nor is the value of an option: `valued` are the options that take one.
    """
    chosen: list[str] = []
    others: list[str] = []
    for before, word in pairwise(["", *words]):
        is_value = any(option == before or is_short_for(before, option) for option in valued)
        is_override = OVERRIDE.match(word) and not is_value and not Path(word).exists()
        (chosen if is_override else others).append(word)
    return chosen, others


def options_with_values(parser: argparse.ArgumentParser) -> set[str]:
    """The options after which a value must follow."""
    found: set[str] = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found.update(*map(options_with_values, action.choices.values()))
        elif action.nargs not in (0, "?", "*"):
            found.update(action.option_strings)
    return found


def is_short_for(word: str, option: str) -> bool:
    """Whether argparse may read a word as the beginning of a long option."""
    return len(word) > len("--") and word.startswith("--") and option.startswith(word)


def read_paths(arguments: argparse.Namespace) -> PathsConfig:
    """The paths of this machine, with the overrides of the command."""
    from elmo_bench.sweep.compose import compose_paths

    return compose_paths(arguments.overrides)
