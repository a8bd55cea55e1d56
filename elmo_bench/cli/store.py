"""`python -m elmo_bench store`: show the disk space of encoded sentences, and free it."""

from __future__ import annotations

import argparse
import time

from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.encoders.cards import CARDS
from elmo_bench.encoders.layers import spell_numbers
from elmo_bench.encoders.shards import STORE, UnitSummary, in_units, list_units, remove_unit
from elmo_bench.files import remove_dead, remove_free_lock
from elmo_bench.runs.kept_examples import EXAMPLES
from elmo_bench.runs.scores import DRAWN_SCORES
from elmo_bench.types import UsageError

HELP = "list or delete the stored layers of frozen encoders"
MADE_IN_CACHE = (
    STORE,
    DRAWN_SCORES,
    CARDS,
    EXAMPLES,
    "hub",
    "models",
    "scale",
    "slots",
    "speeds",
    "texts",
    "tracking",
    "vectors",
    "world",
)
"""The directories that this package makes below paths.cache, which may hold files of others too."""
EXAMPLE = "python -m elmo_bench store list\n  python -m elmo_bench store list paths.cache=/scratch/cache"


def configure(parser: argparse.ArgumentParser) -> None:
    """The sub-commands list and clean; paths.cache=DIR names the directory of the store."""
    take_overrides(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="show encoder, data, size and age of every unit")
    listing.set_defaults(act=show)
    cleaning = actions.add_parser("clean", help="delete units; what a run needs is computed again")
    which = cleaning.add_mutually_exclusive_group(required=True)
    which.add_argument("--all", action="store_true", help="delete all units")
    which.add_argument(
        "--outdated", action="store_true", help="delete those of other versions, which no run reads"
    )
    which.add_argument(
        "--encoder",
        metavar="NAME",
        help="delete those of one encoder, by its name or the beginning of its fingerprint",
    )
    cleaning.set_defaults(act=clean)


def run(arguments: argparse.Namespace) -> None:
    """Execute the sub-command."""
    arguments.act(arguments)


def show(arguments: argparse.Namespace) -> None:
    """One line per unit, and the total."""
    root = read_paths(arguments).cache / STORE
    units = list_units(root)
    if not units:
        print(f"nothing is stored in {root}")
        return
    rows = [("encoder", "fingerprint", "data", "dtype", "layers", "size", "age", "")]
    for unit in units:
        old = age(time.time() - unit.modified)
        state = "" if unit.state == "complete" else unit.state
        names = (unit.encoder, unit.fingerprint[:12], unit.data, unit.dtype, spell_numbers(unit.layers))
        rows.append((*names, in_units(unit.bytes), old, state))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"{len(units)} in {root}, {in_units(sum(unit.bytes for unit in units))} in all")


def clean(arguments: argparse.Namespace) -> None:
    """Delete the chosen units and print how much space that freed; leftovers and free locks go, too."""
    name = arguments.encoder
    if name == "":  # every fingerprint begins with it
        raise UsageError("--encoder: expected a name or the beginning of a fingerprint, got an empty text")
    paths = read_paths(arguments)
    root = paths.cache / STORE
    made = [paths.cache / name for name in MADE_IN_CACHE]
    for directory in [place for one in made for place in (one, *one.rglob("*")) if place.is_dir()]:
        remove_dead(directory)
    units = list_units(root)
    chosen = [unit for unit in units if is_chosen(unit, arguments)]
    if units and not chosen and name:
        known = ", ".join(sorted({f"{unit.encoder} ({unit.fingerprint[:12]})" for unit in units}))
        raise UsageError(f"--encoder {name}: nothing is stored for it; the store has {known}")
    freed = 0
    for unit in chosen:
        if remove_unit(unit.directory):
            freed += unit.bytes
        else:
            print(f"{unit.directory} is being filled by another process and is kept")
    for lock in [*(lock for one in made for lock in one.rglob("*.lock")), *paths.runs.glob("*/.*.lock")]:
        remove_free_lock(lock)
    print(f"{in_units(freed)} freed in {root}")


def is_chosen(unit: UnitSummary, arguments: argparse.Namespace) -> bool:
    """Whether a unit is to be deleted."""
    if arguments.outdated:
        return unit.state == "outdated"
    name = arguments.encoder
    return name is None or unit.encoder == name or unit.fingerprint.startswith(name)


def age(seconds: float) -> str:
    """How long ago, in the largest unit that is at least one."""
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"
