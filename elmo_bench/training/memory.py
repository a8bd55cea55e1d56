"""Reuse the memory that a training step frees, and do not look for garbage where none is made."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from elmo_bench.types import BenchError

# From glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -2, -4, -8
_KEPT_BYTES = 1 << 30
_STATUS = Path("/proc/self/status")


@contextmanager
def pause_collection() -> Iterator[None]:
    """Do not search for cyclic garbage while many objects are made that all stay.

    Python searches again and again as their number grows: a third to a half of the time of reading a corpus
    and of importing PyTorch. Objects without cycles are freed as always.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def peak_bytes() -> int:
    """The most memory that this process has had so far, or since `reset_peak`."""
    import resource  # POSIX alone has it, and only measurements ask

    if _STATUS.exists():
        (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
        return int(peak) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak() -> None:
    """Give freed memory back and count the peak from now on; only Linux can."""
    gc.collect()
    if _STATUS.exists():
        ctypes.CDLL(None).malloc_trim(0)
        with suppress(OSError):  # in some containers it may not be written
            _STATUS.with_name("clear_refs").write_text("5")


@contextmanager
def explain_exhaustion(remedy: str) -> Iterator[None]:
    """Within this block, a GPU without enough memory is an error that says what to change."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise BenchError(f"the GPU is out of memory ({_first_sentence(str(error))}); {remedy}") from None


def _first_sentence(message: str) -> str:
    """CUDA says what it tried to allocate, and then much else."""
    found = re.search(r"Tried to allocate [\d.]+ \w+", message)
    return found[0] if found else message.partition("\n")[0]


def bound_product_caches() -> None:
    """Let oneDNN and PyTorch remember the code of 128 sizes of products each, instead of 1,024.

    The sizes of a head differ from batch to batch, and what is remembered of each takes some 0.2 MB: the
    process grew by 20 MB with every tiny run. Both read the variable at their first product. A step of SNLI
    takes 2 to 5 % longer.
    """
    for name in ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"):
        os.environ.setdefault(name, "128")


def keep_freed_memory() -> None:
    """Configure glibc to keep large freed blocks; otherwise every step has page faults for all its memory.

    Measured on two cores: a training step of 0.9 s took 9 s without this. Without glibc this does nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_ARENA_MAX, 1)  # further threads would have heaps of 64 MiB, too small for a large block
        mallopt(_M_TRIM_THRESHOLD, 2 * _KEPT_BYTES - 1)
        mallopt(_M_TOP_PAD, _KEPT_BYTES // 4)
