"""The jobs of run.py: one run each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from elmo_bench.config import RunConfig
from elmo_bench.sweep.kinds import JobKind
from elmo_bench.sweep.plan import Plan, Target, estimate_seconds
from elmo_bench.sweep.printing import print_line, print_once


def run_one(config: RunConfig, typed: Sequence[str]) -> Path:
    """Execute one run and print its outcome."""
    # Slow modules are imported only now, so that a mistyped value is reported at once.
    from elmo_bench.run.execution import run_job
    from elmo_bench.run.printing import print_outcome

    outcome = run_job(config, print_line)
    print_outcome(outcome, typed)
    return outcome.directory / "result.json"


def locate_run(config: RunConfig) -> Target:
    """The path of the run's record, whether it exists or not."""
    from elmo_bench.run.preparation import foresee

    directory = foresee(config, print_once)
    record = directory / "result.json"
    return Target(
        key=str(directory),
        record=record,
        done=record.is_file() and not config.force,
        group=config.task.name,
        seconds=estimate_seconds(config),
    )


def comment_seeds(plan: Plan) -> list[str]:
    """How many seeds the gains of the plan need."""
    from elmo_bench.sweep.seeds import describe_seeds

    return describe_seeds(plan)


KIND = JobKind("config", RunConfig, run_one, locate_run, comment_seeds)
