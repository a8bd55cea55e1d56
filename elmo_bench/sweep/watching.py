"""Say how far a sweep is where its jobs write to files of their own, as those of a cluster do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from elmo_bench.sweep.outcomes import CLUSTER, SweepStart

SECONDS = 5.0  # between two looks at the directories of the jobs


@contextmanager
def watch(
    start: SweepStart, sweep: Path, say: Callable[[str], None], seconds: float = SECONDS
) -> Iterator[None]:
    """Within this block, say how far the sweep is whenever a job has ended."""
    say(f"what the jobs print is in {sweep / CLUSTER}")
    over, before = Event(), len(start.ended(sweep))

    def look() -> None:
        nonlocal before
        while not over.wait(seconds):
            now = len(start.ended(sweep))
            if now != before:
                say(start.describe(sweep))
                before = now

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
