"""The command line of run.py and pretrain.py: a few flags, and overrides in Hydra's grammar."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")


@dataclass(frozen=True)
class Arguments:
    """A parsed command line: its flags and its overrides."""

    overrides: tuple[str, ...]
    sweep: bool
    directories: tuple[Path, ...]
    help: bool
    show: Literal["job", "hydra", "all"] | None  # print the configuration instead of using it
    package: str | None
    resolve: bool
    info: str | None  # answered by Hydra itself, like completion
    completion: str | None


def read_arguments(words: Sequence[str]) -> Arguments:
    """Flags and overrides, in any order."""
    found = _parser().parse_intermixed_args(list(words))
    return Arguments(
        overrides=tuple(found.overrides),
        sweep=found.multirun,
        directories=tuple(found.config_dir),
        help=found.help,
        show=found.cfg,
        package=found.package,
        resolve=found.resolve,
        info=found.info,
        completion=found.shell_completion,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, usage="--help lists the choices")
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-cd", "--config-dir", type=Path, action="append", default=[])
    parser.add_argument("-c", "--cfg", choices=("job", "hydra", "all"))
    parser.add_argument("-p", "--package")
    parser.add_argument("--resolve", action="store_true")
    parser.add_argument("-i", "--info", nargs="?", const="all", choices=INFO)
    parser.add_argument("-sc", "--shell-completion", nargs="?", const="install=bash")
    return parser
