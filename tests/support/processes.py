"""Run the project's commands as a person does, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import PROJECT

SLOW_PACKAGES = (
    *("torch", "pytorch_lightning", "lightning_fabric", "datasets"),
    *("pandas", "sklearn", "scipy.stats", "wandb"),
)
_IMPORTS = """
import json, sys
from elmo_bench.cli.main import main
slow, commands = json.loads(sys.argv[1])
for command in commands:
    try:
        code = main(command)
    except SystemExit as stop:
        code = stop.code
    if code:
        sys.exit(code)
    for name in sorted(set(slow) & sys.modules.keys()):
        print(f"{name} is imported after {command}", file=sys.stderr)
"""


def slow_imports(*commands: Sequence[str]) -> tuple[str, list[str]]:
    """What commands print in one process, and a line for every slow package that each has imported."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS, json.dumps([SLOW_PACKAGES, commands])],
        cwd=PROJECT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr.splitlines()


def start(
    *arguments: str, script: str = "run.py", output: int = subprocess.PIPE, **environment: str
) -> subprocess.Popen[str]:
    """A running command; its output is read at its end."""
    return subprocess.Popen(
        [sys.executable, script, *arguments],
        cwd=PROJECT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=output,
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
