"""What run.py does with one composed configuration."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from elmo_bench.config import RunConfig, read_config
from elmo_bench.sweep.plan import Place, estimate_seconds


def run_one(values: dict[str, Any]) -> Path:
    """One run, told to the person who started it."""
    config = read_config(RunConfig, values)
    # Only now what takes seconds to import: a mistyped value is answered at once.
    from elmo_bench.run.execution import run_job
    from elmo_bench.run.printing import announce

    outcome = run_job(config, say)
    announce(outcome)
    return outcome.directory / "result.json"


def place_run(values: dict[str, Any]) -> Place:
    """Where the run's record lies or will lie; nothing of it is computed."""
    config = read_config(RunConfig, values)
    from elmo_bench.run.preparation import foresee

    directory = foresee(config, say_once)
    record = directory / "result.json"
    done = record.is_file() and not config.force
    return Place(str(directory), record, done, config.task.name, estimate_seconds(config))


def say(message: str) -> None:
    print(message, flush=True)


@cache
def say_once(message: str) -> None:
    """What is the same for all jobs of a plan is said for one."""
    say(message)
