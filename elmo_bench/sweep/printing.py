"""What the commands print while they work."""

from __future__ import annotations

from functools import cache


def print_line(message: str) -> None:
    """Print a line at once, so that a log file shows how far the work is."""
    print(message, flush=True)


@cache
def print_once(message: str) -> None:
    """Print a line that is the same for all jobs of a plan once."""
    print_line(message)
