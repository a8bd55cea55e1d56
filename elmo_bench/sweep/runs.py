"""The jobs of run.py: one run each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from elmo_bench.config import RunConfig
from elmo_bench.sweep.kinds import JobKind
from elmo_bench.sweep.plan import Plan, Target, estimate_seconds
from elmo_bench.sweep.printing import print_line, print_once
from elmo_bench.training.memory import pause_collection
from elmo_bench.types import BenchError

EACH_LAYER = "elmo.layers=each"  # in a sweep


def run_one(config: RunConfig, typed: Sequence[str]) -> Path:
    """Execute one run and print its outcome."""
    # Slow modules are imported only now, so that a mistyped value is reported at once.
    from elmo_bench.run.outcome import find_outcome
    from elmo_bench.run.printing import print_outcome

    outcome = find_outcome(config, print_line)
    if outcome is None:
        with pause_collection():  # only now PyTorch and Lightning, which take seconds
            from elmo_bench.run.execution import run_job

        outcome = run_job(config, print_line)
    print_outcome(outcome, typed)
    return outcome.directory / "result.json"


def locate_run(config: RunConfig) -> Target:
    """The path of the run's record, whether it exists or not."""
    from elmo_bench.plugins import load_task
    from elmo_bench.run.preparation import foresee

    directory = foresee(config, print_once)
    record = directory / "result.json"
    done = record.is_file() and not config.force
    if not done:
        load_task(config.task)  # reports settings that do not fit
    return Target(
        key=str(directory),
        record=record,
        done=done,
        group=config.task.name,
        seconds=estimate_seconds(config),
    )


def comment_seeds(plan: Plan) -> list[str]:
    """How many seeds the gains of the plan need."""
    from elmo_bench.sweep.seeds import describe_seeds

    return describe_seeds(plan)


def expand_layers(job: list[str], read: Callable[[list[str]], RunConfig]) -> list[list[str]]:
    """One job for every layer of the encoder in place of a job with elmo.layers=each."""
    if EACH_LAYER not in job:
        return [job]
    place = job.index(EACH_LAYER)

    def with_layer(layer: int) -> list[str]:
        return [*job[:place], f"elmo.layers={layer}", *job[place + 1 :]]

    try:
        count = _count_layers(read(with_layer(0)))
    except BenchError:
        count = 1  # the plan reports why the job cannot run
    return [with_layer(layer) for layer in range(count)]


def _count_layers(config: RunConfig) -> int:
    """The number of layers that the encoder's card names; the baseline is one job. Nothing is computed."""
    from elmo_bench.run.encoder import find_run_encoder, plan_run_encoder

    if config.elmo.where == "none":
        return 1
    if planned := plan_run_encoder(config, print_once):
        return planned.card.layer_count
    return find_run_encoder(config, print_once)[0].card.layer_count


KIND = JobKind("config", RunConfig, run_one, locate_run, expand_layers, comment_seeds)
