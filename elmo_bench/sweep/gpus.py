"""Assign one GPU to each of the jobs that run in parallel on one machine."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import BaseFileLock

from elmo_bench.files import try_lock

VISIBLE = "CUDA_VISIBLE_DEVICES"
_held: list[BaseFileLock] = []  # until the process ends


def usable_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if VISIBLE in os.environ:
        return [name for name in os.environ[VISIBLE].split(",") if name]
    devices = sorted(Path("/dev").glob("nvidia[0-9]*"), key=lambda path: (len(path.name), path.name))
    return [path.name.removeprefix("nvidia") for path in devices]


def take_gpu(job: int, slots: Path) -> str | None:
    """Restrict this process to one free GPU; if all are taken, choose one by the job's index.

    A process keeps its first GPU for all of its jobs, because CUDA reads the variable only once.
    """
    gpus = usable_gpus()
    if not gpus:
        return None
    if _held:
        return os.environ[VISIBLE]
    slots.mkdir(parents=True, exist_ok=True)
    by_number = gpus[job % len(gpus) :] + gpus[: job % len(gpus)]
    chosen = next((gpu for gpu in by_number if _hold(slots / f"gpu-{gpu}.lock")), by_number[0])
    os.environ[VISIBLE] = chosen
    return chosen


def _hold(path: Path) -> bool:
    lock = try_lock(path)
    if lock is not None:
        _held.append(lock)
    return lock is not None
