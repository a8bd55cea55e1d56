"""Hydra's side of the house: compose, launch one job or a sweep, and turn errors into exit codes."""

from __future__ import annotations

import os
import platform
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from elmo_bench.catalog import CONF
from elmo_bench.sweep.explanation import explain_composition, overview
from elmo_bench.sweep.gpus import take_gpu
from elmo_bench.sweep.outcomes import KILLED, JobEnd, conclude, read_ends, write_end
from elmo_bench.sweep.overrides import EXPERIMENT, read_params, split_sweep
from elmo_bench.sweep.own_models import offer_models
from elmo_bench.sweep.plan import Place, describe_plan, describe_sum, plan_jobs
from elmo_bench.types import BenchError, InterruptedRunError, UsageError

SEED = "seed="
IN_PROCESS = "BasicLauncher"


@dataclass(frozen=True)
class Entry:
    """What the jobs of one of the scripts are."""

    name: str  # of its file in conf
    run: Callable[[dict[str, Any]], Path | None]  # answers with the record's file, where it wrote one
    place: Callable[[dict[str, Any]], Place] | None = None  # without it every job is launched


class TaskFunction:
    """What Hydra calls for every job, here or in a process of a launcher."""

    def __init__(self, entry: Entry, many: bool, only_plan: bool) -> None:
        self.entry = entry
        self.many = many
        self.only_plan = only_plan
        self.arguments: list[str] = []  # of a sweep, as they were given
        self.end: JobEnd | None = None  # of a single job

    def __call__(self, composed: DictConfig) -> None:
        hydra_config = HydraConfig.get()
        overrides = list(hydra_config.overrides.task)
        in_process = str(hydra_config.launcher._target_).endswith(IN_PROCESS)
        values = plain(composed)
        if self.only_plan and self.entry.place:
            self.end = guard(lambda: self._show(overrides, values), overrides)
            return
        directory = Path(hydra_config.runtime.output_dir)
        if self.many:
            write_end(directory, JobEnd(overrides, 1, KILLED))  # until it says otherwise
            if not in_process:
                take_slot(values, hydra_config.job.num)
        self.end = guard(lambda: self.entry.run(values), overrides)
        if self.many:
            write_end(directory, self.end)
        # The person asked to stop, not only this job; on a cluster the others are none of its business.
        if self.end.exit_code == InterruptedRunError.exit_code and in_process:
            raise KeyboardInterrupt

    def choose(
        self, jobs: list[list[str]], sweep: Path, compose: Callable[[list[str]], DictConfig]
    ) -> list[list[str]]:
        """The jobs to launch: say what is planned, and write down how those end that are not started."""
        if self.entry.place is None and self.only_plan:
            print("\n".join(["to run:", *(f"  {' '.join(job)}" for job in jobs)]), flush=True)
            return []
        if self.entry.place is None:
            return jobs
        place = self.entry.place
        plan = plan_jobs(jobs, Composer(compose).place_with(place))
        if self.only_plan:
            print(describe_plan(plan), flush=True)
            return []
        print("\n".join(describe_sum(plan)), flush=True)
        for job in plan.broken:
            print(f"error: {job.error}", file=sys.stderr, flush=True)
        for number, job in enumerate([*plan.done, *plan.broken], len(plan.missing)):
            write_end(sweep / str(number), job.end())
        return [job.overrides for job in plan.missing]

    def _show(self, overrides: list[str], values: dict[str, Any]) -> None:
        assert self.entry.place
        place = self.entry.place(values)
        print(describe_plan(plan_jobs([overrides], lambda _: place)))


def launch(entry: Entry, usage: str, arguments: list[str]) -> int:
    """Run what the command line asks for and answer with the exit code."""
    if {"-h", "--help"} & set(arguments):
        print(overview(usage))
        return 0
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us instead of being printed by Hydra
    sweep = Path(f"results/sweeps/{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
    many = "-m" in arguments or "--multirun" in arguments
    if not many and any(argument.startswith(EXPERIMENT) for argument in arguments):
        print("error: an experiment is many runs: put -m before it", file=sys.stderr)
        return UsageError.exit_code
    function = TaskFunction(entry, many, only_plan="plan=true" in (word.lower() for word in arguments))
    offer_models(arguments)
    main = hydra.main(version_base=None, config_path=str(CONF), config_name=entry.name)(function)
    try:
        if many:
            function.arguments, first = split_sweep(arguments, read_params(arguments))
            arguments = [*first, f"hydra.sweep.dir={sweep}"]
        sys.argv = [sys.argv[0], *arguments]
        main()
    except KeyboardInterrupt:
        if many:
            conclude(read_ends(sweep))
        return InterruptedRunError.exit_code
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except (HydraException, OmegaConfBaseException) as error:
        print(explain_composition(error, entry.name, arguments), file=sys.stderr)
        return UsageError.exit_code
    if many and not function.only_plan:
        return conclude(read_ends(sweep))
    return function.end.exit_code if function.end else 0


class Composer:
    """Composes the configurations of a sweep's jobs; those that differ in their seed alone only once."""

    def __init__(self, compose: Callable[[list[str]], DictConfig]) -> None:
        self.compose = cache(lambda overrides: plain(without_hydra(compose(list(overrides)))))

    def place_with(self, place: Callable[[dict[str, Any]], Place]) -> Callable[[list[str]], Place]:
        def place_job(overrides: list[str]) -> Place:
            seeds = [word for word in overrides if re.fullmatch(rf"{SEED}\d+", word)]
            values = self.compose(tuple(word for word in overrides if word not in seeds))
            seed = {SEED[:-1]: int(seeds[-1].removeprefix(SEED))} if seeds else {}
            return place({**values, **seed})

        return place_job


def without_hydra(composed: DictConfig) -> DictConfig:
    """What a job is handed: all but Hydra's own part."""
    with open_dict(composed), read_write(composed):
        del composed["hydra"]
    return composed


def take_slot(values: dict[str, Any], number: int) -> None:
    """Give a job that runs beside others a GPU of its own, where it wants one."""
    trainer = values.get("trainer", {})
    if trainer.get("accelerator") != "cpu" and trainer.get("devices") == 1:
        take_gpu(number, Path(values["paths"]["cache"]) / "slots" / platform.node())


def plain(composed: DictConfig) -> dict[str, Any]:
    """The resolved configuration as plain values."""
    values = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


def guard(action: Callable[[], Path | None], overrides: list[str]) -> JobEnd:
    """Do one job; what goes wrong becomes a readable message and an exit code, never a lost sweep."""
    try:
        for number in (signal.SIGTERM, signal.SIGUSR2):
            signal.signal(number, _stop)  # fitting has a gentler answer, which checkpoints first
    except ValueError:
        pass  # not the main thread: signals go to whoever owns it
    try:
        result = action()
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return JobEnd(overrides, error.exit_code, str(error))
    except OmegaConfBaseException as error:
        message = str(error).splitlines()[0]
        print(f"error: {message}", file=sys.stderr, flush=True)
        return JobEnd(overrides, UsageError.exit_code, message)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return JobEnd(overrides, 1, str(error))
    except Exception as error:  # a mistake of ours: shown in full, but the other jobs go on
        traceback.print_exc()
        return JobEnd(overrides, 1, f"{type(error).__name__}: {error}")
    return JobEnd(overrides, 0, "", str(result or ""))


def _stop(number: int, _: Any) -> None:
    raise InterruptedRunError(f"stopped by {signal.Signals(number).name}; the same command starts it again")
