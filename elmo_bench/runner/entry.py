"""What run.py does with one composed configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elmo_bench.config import RunConfig, read_config


def run_one(values: dict[str, Any]) -> Path:
    """One run, told to the person who started it."""
    config = read_config(RunConfig, values)
    # Only now what takes seconds to import: a mistyped value is answered at once.
    from elmo_bench.runner.announcement import announce
    from elmo_bench.runner.job import run_job

    outcome = run_job(config, say)
    announce(outcome)
    return outcome.directory / "result.json"


def say(message: str) -> None:
    print(message, flush=True)
