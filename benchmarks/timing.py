"""Seconds of several actions side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch

Action = Callable[[], object]


def now() -> float:
    """Seconds of the clock, or of the processor where one thread does everything."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def seconds_of(action: Action) -> float:
    """How long one call takes."""
    start = now()
    action()
    return now() - start


def measure(actions: Sequence[Action], rounds: int) -> list[list[float]]:
    """The seconds of each action in every round; rounds are interleaved, so foreign load hits all alike."""
    for action in actions:
        action()
    timed = [[seconds_of(action) for action in actions] for _ in range(rounds)]
    return [list(column) for column in zip(*timed, strict=True)]


def medians(actions: Sequence[Action], rounds: int) -> list[float]:
    """The median seconds of each action."""
    return [statistics.median(seconds) for seconds in measure(actions, rounds)]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios inside each round."""
    return statistics.median(our / their for our, their in zip(ours, theirs, strict=True))
