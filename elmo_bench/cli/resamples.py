"""The option of commands that test a gain: the number of bootstrap resamples."""

from __future__ import annotations

import argparse

from elmo_bench.report.statistics import LEAST_RESAMPLES, RESAMPLES
from elmo_bench.types import UsageError


def add_resamples(parser: argparse.ArgumentParser) -> None:
    """Add the option to a parser."""
    parser.add_argument(
        "--resamples",
        type=int,
        default=RESAMPLES,
        metavar="N",
        help="number of bootstrap resamples (default: %(default)s)",
    )


def read_resamples(arguments: argparse.Namespace) -> int:
    """The number of resamples, checked to suffice for intervals."""
    resamples: int = arguments.resamples
    if resamples < LEAST_RESAMPLES:
        raise UsageError(f"--resamples {resamples}: expected at least {LEAST_RESAMPLES}")
    return resamples
