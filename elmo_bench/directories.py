"""The directories of configuration files: `conf` of this package and of installed ones, and the user's own.

Their files name the classes of tasks and encoders by dotted paths, which `elmo_bench/plugins.py` checks.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from elmo_bench.types import UsageError

CONF = Path(__file__).parent / "conf"
ENTRY_POINTS = ("elmo_bench.tasks", "elmo_bench.encoders")
_own: list[Path] = []  # the user's directories, for the rest of this process


def add_directory(directory: Path) -> None:
    """Register a directory of the user; Python files next to its YAML files can be imported."""
    if not directory.is_dir():
        raise UsageError(f"--config-dir {directory}: no such directory")
    directory = directory.resolve()
    if directory not in _own:
        _own.append(directory)
    if str(directory) not in sys.path:
        sys.path.append(str(directory))  # appended, so that it never hides a module of this package


def add_directories(given: str | Path | Sequence[str | Path]) -> None:
    """Register one directory or several, as the functions for notebooks take them."""
    for directory in [given] if isinstance(given, str | Path) else given:
        add_directory(Path(directory))


def own_directories() -> tuple[Path, ...]:
    """The directories given with --config-dir."""
    return tuple(_own)


def directories() -> tuple[Path, ...]:
    """Every directory of configuration files: ours, those of installed packages, the user's own."""
    return (CONF, *installed_directories(), *_own)


@cache
def installed_directories() -> tuple[Path, ...]:
    """`conf` of every installed package that declares a task or an encoder."""
    points = [point for group in ENTRY_POINTS for point in entry_points(group=group)]
    return tuple(dict.fromkeys(_conf_of(point) for point in points))


def _conf_of(point: EntryPoint) -> Path:
    """The directory `conf` of the package of an entry point; the package is not imported."""
    package = point.module.partition(".")[0]
    spec = importlib.util.find_spec(package)
    roots = spec.submodule_search_locations if spec else None
    conf = Path(next(iter(roots))) / "conf" if roots else None
    if conf is None or not conf.is_dir():
        raise UsageError(
            f"entry point {point.group}: {point.name} = {point.value}: expected a package {package} "
            f"with a directory conf; correct or uninstall {point.dist.name if point.dist else package}"
        )
    return conf
