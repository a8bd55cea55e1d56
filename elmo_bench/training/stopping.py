"""Handle stop signals, from Slurm, a terminal, or a shutdown of the machine."""

from __future__ import annotations

import signal
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)


class StopRequest:
    """Records a signal until the current work is saved; a second ctrl-C stops at once."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._earlier: dict[int, Any] = {}

    @property
    def name(self) -> str | None:
        """The received signal, if any."""
        return None if self._number is None else signal.Signals(self._number).name

    def listen(self) -> None:
        """Install the handlers; only the main thread can do this."""
        try:
            self._earlier = {number: signal.signal(number, self._remember) for number in SIGNALS}
        except ValueError:
            self._earlier = {}

    def release(self) -> None:
        """Restore the previous handlers."""
        for number, handler in self._earlier.items():
            signal.signal(number, handler)
        self._earlier = {}

    def _remember(self, number: int, _: Any) -> None:
        if self._number == signal.SIGINT == number:
            raise KeyboardInterrupt
        self._number = number
