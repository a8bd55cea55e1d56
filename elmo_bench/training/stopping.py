"""Handle stop signals, from Slurm, a terminal, or a shutdown of the machine.

A stop signal ends the work at once (`stop_on_signals`), except while a model is trained: there it ends the
work after the current step, when a checkpoint has been saved (`StopRequest`).
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from elmo_bench.types import InterruptedRunError

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)

Handler = Callable[[int, Any], None]
Handlers = dict[int, Any]  # by signal; None is a handler that was not installed from Python


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Within this block, a stop signal raises InterruptedRunError at whatever is being done."""
    earlier = _install(_stop)
    try:
        yield
    finally:
        _restore(earlier)


@contextmanager
def keep_handlers() -> Iterator[None]:
    """Restore the handlers of the stop signals after a training.

    Lightning restores its own before ours are released, which then bring Lightning's back. Its handler knows
    the trainer, so the process would keep the model, the data and the mapped store of a finished run.
    """
    earlier: Handlers = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        with suppress(ValueError):  # only the main thread has installed any
            _restore(earlier)


class StopRequest:
    """Records a signal until the current work is saved; a second ctrl-C stops at once."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._earlier: Handlers = {}

    @property
    def name(self) -> str | None:
        """The received signal, if any."""
        return None if self._number is None else signal.Signals(self._number).name

    def listen(self) -> None:
        """Install the handlers."""
        self._earlier = _install(self._remember)

    def release(self) -> None:
        """Restore the previous handlers."""
        _restore(self._earlier)
        self._earlier = {}

    def _remember(self, number: int, frame: Any) -> None:
        if self._number == signal.SIGINT == number:
            _stop(number, frame)
        self._number = number


def _install(handler: Handler) -> Handlers:
    """Handle the stop signals, and return the previous handlers; only the main thread can do this."""
    try:
        return {number: signal.signal(number, handler) for number in SIGNALS}
    except ValueError:
        return {}


def _restore(handlers: Handlers) -> None:
    for number, handler in handlers.items():
        if handler is not None:
            signal.signal(number, handler)


def _stop(number: int, _: Any) -> None:
    raise InterruptedRunError(
        f"stopped by {signal.Signals(number).name}; run the same command again to resume"
    )
