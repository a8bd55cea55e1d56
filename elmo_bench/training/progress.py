"""How far a training is, and when it will end: in place on a terminal, as sparse lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tqdm import tqdm

from elmo_bench.types import Log

SECONDS_TO_THE_FIRST_LINE = 30.0
SHARE_BETWEEN_LINES = 0.05  # of the time so far, so that a log of days stays readable
SECONDS_TO_THE_BAR = 2.0  # shorter trainings have none


class Meter:
    """Counts steps and shows them with their rate and the time to the end."""

    def __init__(
        self, total: int, done: int, log: Log, seconds: float | None = None, left: str = "{} left"
    ) -> None:
        """`done` steps were made in earlier sessions; after `seconds`, this session ends."""
        self._total, self._first, self._done, self._log, self._seconds = total, done, done, log, seconds
        self._left = left  # how the time to the last step is put
        self._start = self._told = time.monotonic()
        self._bar: tqdm[None] | None = None
        if sys.stderr.isatty():
            self._bar = tqdm(total=total, initial=done, unit="step", leave=False, delay=SECONDS_TO_THE_BAR)

    @property
    def rate(self) -> float:
        """Steps per second in this session."""
        return (self._done - self._first) / max(time.monotonic() - self._start, 1e-9)

    @property
    def seconds_left(self) -> float:
        """The time to the last step, or to the end of the session."""
        left = self.seconds_of(self._total - self._done)
        if self._seconds is not None:
            left = min(left, self._start + self._seconds - time.monotonic())
        return max(0.0, left)

    def seconds_of(self, steps: int) -> float:
        """The time that so many steps take at the present rate."""
        return steps / max(self.rate, 1e-9)

    def advance(self, describe: Callable[[], str]) -> None:
        """Count one step; `describe` says what else is shown."""
        self._done += 1
        now = time.monotonic()
        if self._bar is not None:
            self._bar.set_postfix_str(describe(), refresh=False)
            self._bar.update()
        elif now - self._told >= max(SECONDS_TO_THE_FIRST_LINE, SHARE_BETWEEN_LINES * (now - self._start)):
            self._told = now
            left = self._left.format(spell_time(self.seconds_left))
            self._log(f"step {self._done:,} of {self._total:,}: {describe()}, {left}")

    def clear(self) -> None:
        """Free the line of the terminal for other output; the next step shows the bar again."""
        if self._bar is not None:
            self._bar.clear()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()


def spell_time(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
