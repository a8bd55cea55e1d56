"""Being asked to stop: by Slurm, by a terminal, by whoever shuts the machine down."""

from __future__ import annotations

import signal
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)


class StopRequest:
    """Remembers a signal until the work at hand is safe; the second ctrl-C does not wait for that."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._earlier: dict[int, Any] = {}

    @property
    def name(self) -> str | None:
        """The signal that came, if any."""
        return None if self._number is None else signal.Signals(self._number).name

    def listen(self) -> None:
        """Take the signals over; outside the main thread they stay with whoever owns it."""
        try:
            self._earlier = {number: signal.signal(number, self._remember) for number in SIGNALS}
        except ValueError:
            self._earlier = {}

    def release(self) -> None:
        """Give the signals back."""
        for number, handler in self._earlier.items():
            signal.signal(number, handler)
        self._earlier = {}

    def _remember(self, number: int, _: Any) -> None:
        if self._number == signal.SIGINT == number:
            raise KeyboardInterrupt
        self._number = number
