"""Two threads for work that falls into two halves, such as the two directions of a biLM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Result = TypeVar("Result")


def count_workers(device: torch.device) -> int:
    """How many threads share the work on a device: two where PyTorch may use several."""
    return 2 if device.type == "cpu" and torch.get_num_threads() > 1 else 1


@contextmanager
def two_workers(device: torch.device) -> Iterator[Executor | None]:
    """Two threads that share PyTorch's thread count between them, or none if there is only one thread."""
    threads = torch.get_num_threads()
    if count_workers(device) == 1:
        yield None
        return
    try:
        with ThreadPoolExecutor(2, initializer=torch.set_num_threads, initargs=(threads // 2,)) as executor:
            yield executor
    finally:
        torch.set_num_threads(threads)  # MKL applies a worker's thread count to the whole process


def run_side_by_side(functions: Sequence[Callable[[], Result]], device: torch.device) -> list[Result]:
    """The results of functions that record no gradients, computed by two workers where there are two."""
    with two_workers(device) as executor:
        if executor is None or len(functions) == 1:
            return [function() for function in functions]
        return list(executor.map(lambda function: torch.no_grad()(function)(), functions))
