"""Reuse the memory that a training step frees in the next step."""

from __future__ import annotations

import ctypes
import sys

# From glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_KEPT_BYTES = 1 << 30


def keep_freed_memory() -> None:
    """Configure glibc to keep large freed blocks; otherwise every step has page faults for all its memory.

    Measured on two cores: a training step of 0.9 s took 9 s without this. Without glibc this does nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2 * _KEPT_BYTES - 1)
        mallopt(_M_TOP_PAD, _KEPT_BYTES // 4)
