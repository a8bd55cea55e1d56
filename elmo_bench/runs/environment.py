"""The code and the machine of a run, for its record; they are not part of the run's identity."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import elmo_bench
from elmo_bench.nn.compiled import load_loops

PACKAGE = Path(elmo_bench.__file__).resolve().parent
PACKAGES = ("torch", "pytorch-lightning", "numpy")  # that compute in every run


def describe_environment(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Code, versions and hardware; `packages` are those that this run computes with in addition."""
    return {
        **describe_code(PACKAGE),
        "python": sys.version.split()[0],
        "versions": {package: version(package) for package in (*PACKAGES, *packages)},
        "platform": platform.platform(),
        "processor": describe_processor().get("model name") or platform.processor(),
        "cores": count_cores(),
        "threads": torch.get_num_threads(),
        "compiled": load_loops(torch.float32) is not None,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def describe_code(package: Path) -> dict[str, Any]:
    """This package's version, and in a clone its commit and whether files differ from it."""
    project = package.parent
    commit = dirty = None
    if is_clone(project, package.name):
        commit = _git(project, "rev-parse", "HEAD")
        # Runs write results themselves, so changed results do not mean changed code.
        dirty = bool(_git(project, "status", "--porcelain", "--", ".", ":(exclude)results"))
    return {"version": elmo_bench.__version__, "commit": commit, "dirty": dirty}


def is_clone(project: Path, package: str) -> bool:
    """Whether a directory is the top level of a repository that contains the package.

    An installed package may be inside another repository, such as in a virtual environment there.
    """
    top = _git(project, "rev-parse", "--show-toplevel")
    tracked = _git(project, "ls-files", "--error-unmatch", package)
    return top is not None and Path(top).resolve() == project and tracked is not None


def _git(directory: Path, *arguments: str) -> str | None:
    """The output of one git command, or None if it fails."""
    try:
        answer = subprocess.run(
            ["git", *arguments], cwd=directory, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def count_cores() -> int | None:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def describe_processor() -> dict[str, str]:
    """What the kernel says of the first processor, such as its `flags`; empty where it says nothing."""
    try:
        first, _, _ = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
