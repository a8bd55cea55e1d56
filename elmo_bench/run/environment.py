"""What is recorded of the machine and the code; it explains numbers but does not identify a run."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("torch", "pytorch-lightning", "numpy", "hydra-core", "seqeval", "scikit-learn", "safetensors")


def describe_environment() -> dict[str, Any]:
    """Commit, versions and hardware."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        # Results are written by runs themselves, so they do not make the code another one.
        "dirty": bool(_git("status", "--porcelain", "--", ".", ":(exclude)results")),
        "python": sys.version.split()[0],
        "versions": {package: version(package) for package in PACKAGES},
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _git(*arguments: str) -> str | None:
    """One answer of git, or None outside a clone."""
    try:
        answer = subprocess.run(
            ["git", *arguments], cwd=PROJECT, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
