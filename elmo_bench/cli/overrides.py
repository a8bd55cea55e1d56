"""Overrides on the command line of every command: the same words as for run.py, such as paths.records=DIR."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
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


def split_overrides(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line into overrides and other arguments; an existing file is not an override."""
    chosen = [word for word in words if OVERRIDE.match(word) and not Path(word).exists()]
    return chosen, [word for word in words if word not in chosen]


def read_paths(arguments: argparse.Namespace) -> PathsConfig:
    """The paths of this machine, with the overrides of the command."""
    from elmo_bench.sweep.compose import compose_paths

    return compose_paths(arguments.overrides)
