"""Run the project's commands as a person does, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import PROJECT


def start(*arguments: str, script: str = "run.py") -> subprocess.Popen[str]:
    """A running command; its output is read at its end."""
    return subprocess.Popen(
        [sys.executable, script, *arguments],
        cwd=PROJECT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(*arguments: str, script: str = "run.py") -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command that has ended."""
    process = start(*arguments, script=script)
    output, errors = process.communicate(timeout=300)
    return process.returncode, output, errors


def places(root: Path) -> list[str]:
    """Overrides that keep everything a run writes below one directory."""
    return [f"paths.{name}={root / name}" for name in ("runs", "cache", "records")]
