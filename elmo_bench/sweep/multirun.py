"""A sweep: list its jobs, plan them, and start those that are missing through a launcher of Hydra."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hydra._internal.callbacks import Callbacks
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from elmo_bench.directories import add_directory, own_directories
from elmo_bench.files import waiting_lock
from elmo_bench.output import outlive_output
from elmo_bench.runs.outcome import tidy
from elmo_bench.runs.tracking import join_sweep
from elmo_bench.sweep.compose import Composer, quote, read_paths, to_values
from elmo_bench.sweep.gpus import take_gpu
from elmo_bench.sweep.guard import guard
from elmo_bench.sweep.jobs import SweepConfig, list_jobs
from elmo_bench.sweep.keys import drop_foreign_keys
from elmo_bench.sweep.kinds import JobKind
from elmo_bench.sweep.outcomes import (
    KILLED,
    Expected,
    JobEnd,
    SweepStart,
    conclude,
    launch_all,
    read_ends,
    write_end,
)
from elmo_bench.sweep.plan import Plan, Target, describe_plan, describe_sum, plan_jobs
from elmo_bench.sweep.printing import print_line
from elmo_bench.sweep.watching import watch
from elmo_bench.types import InterruptedRunError

IN_PROCESS = "BasicLauncher"  # jobs run in this process
ON_CLUSTER = "SlurmLauncher"
EXPERIMENT_CHOICE = "+experiment="


@dataclass(frozen=True)
class Job:
    """The function that a launcher calls for every job, in this process or in a new one."""

    kind: JobKind[Any]
    directories: tuple[Path, ...]  # the user's directories; a new process does not know them
    start: SweepStart

    def __call__(self, composed: DictConfig) -> None:
        for path in self.directories:
            add_directory(path)
        hydra = HydraConfig.get()
        overrides, directory = list(hydra.overrides.task), Path(hydra.runtime.output_dir)
        chosen = [word.partition("=")[2] for word in overrides if word.startswith(EXPERIMENT_CHOICE)]
        join_sweep(directory.parent, chosen[-1] if chosen else None)
        in_process, began = _has_launcher(hydra, IN_PROCESS), time.monotonic()
        write_end(directory, JobEnd(overrides, 1, KILLED))  # until the job ends
        with outlive_output():
            end = guard(lambda: self._run(composed, None if in_process else hydra.job.num), overrides)
            if end.is_busy:
                print_line(f"{end.error}; this job comes again after the others")
        write_end(directory, replace(end, seconds=time.monotonic() - began))
        if not end.is_busy:
            print_line(self.start.describe(directory.parent))
        # On one machine the signal is meant for the whole sweep; on a cluster only for this job.
        if end.exit_code == InterruptedRunError.exit_code and in_process:
            raise InterruptedRunError(end.error)

    def _run(self, composed: DictConfig, number: int | None) -> Path:
        command = self.kind.read(to_values(composed))
        if number is not None:
            _take_gpu(command, number)
        return self.kind.run(command, ())


def launch_sweep(composer: Composer, kind: JobKind[Any], sweep: SweepConfig, overrides: Sequence[str]) -> int:
    """Plan a sweep and start what is missing; the exit code is 0 only if every job is done."""
    parsed = composer.parse(overrides)
    of_hydra = [str(override.input_line) for override in parsed if override.is_hydra_override()]
    of_jobs = [str(override.input_line) for override in parsed if not override.is_hydra_override()]
    translated = [composer.translate(kind.primary, job) for job in list_jobs(composer.parse, sweep, of_jobs)]
    listed = drop_foreign_keys(composer, kind.primary, translated, print_line)
    commands: dict[tuple[str, ...], Any] = {}

    def read(job: list[str]) -> Any:
        return kind.read(composer.job_values(kind.primary, job))

    def locate(job: list[str]) -> Target:
        commands[tuple(job)] = command = read(job)
        return kind.locate(command)

    plan = plan_jobs([job for one in listed for job in kind.expand(one, read)], locate)
    if error := plan.common_error:
        raise error
    if any(command.plan for command in commands.values()):
        print("\n".join([describe_plan(plan), *kind.comment(plan)]), flush=True)
        return 0
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    directory = read_paths(composer, overrides).runs.absolute() / "sweeps" / name
    shared = kind.share([commands[tuple(job.overrides)] for job in plan.missing])
    missing = [[*job.overrides, *more] for job, more in zip(plan.missing, shared, strict=True)]
    commands.clear()  # of a long sweep they take much memory
    with outlive_output():
        return _start(composer, kind, plan, missing, directory, of_hydra)


def _start(
    composer: Composer,
    kind: JobKind[Any],
    plan: Plan,
    missing: list[list[str]],
    directory: Path,
    of_hydra: Sequence[str],
) -> int:
    _settle(plan, directory)
    targets = {tuple(job): planned.target for job, planned in zip(missing, plan.missing, strict=True)}
    expected = {job: Expected(target.group, target.seconds) for job, target in targets.items() if target}
    start = SweepStart(len(plan.jobs), time.time(), expected)
    master = composer.load(
        kind.primary, [*of_hydra, f"hydra.sweep.dir={quote(str(directory))}"], RunMode.MULTIRUN
    )
    launcher = Plugins.instance().instantiate_launcher(
        hydra_context=HydraContext(config_loader=composer.loader, callbacks=Callbacks(master)),
        task_function=Job(kind, own_directories(), start),
        config=master,
    )
    in_process = _has_launcher(master.hydra, IN_PROCESS)
    on_cluster = _has_launcher(master.hydra, ON_CLUSTER)

    def launch(jobs: list[list[str]], first: int) -> None:
        # In this process a launcher keeps the configurations of all jobs that it is given at once.
        size = 1 if in_process else len(jobs)
        with watch(start, directory, print_line) if on_cluster else nullcontext():
            for offset in range(0, len(jobs), size):
                launcher.launch(jobs[offset : offset + size], initial_job_idx=first + offset)

    try:
        launch_all(missing, directory, launch, lambda job: wait_for(targets[tuple(job)]))
    except (KeyboardInterrupt, InterruptedRunError):  # a launcher's own processes pass on the former
        conclude(read_ends(directory))
        return InterruptedRunError.exit_code
    return conclude(read_ends(directory))


def _settle(plan: Plan, directory: Path) -> None:
    """Report the jobs that do not start, and write how each ended, after the numbers of those that do."""
    print("\n".join(describe_sum(plan)), flush=True)
    for job in plan.broken:
        print(f"error: {job.error}", file=sys.stderr, flush=True)
    for job in plan.done:
        if job.target and not job.target.published:
            tidy(job.target.record.parent)
    for number, job in enumerate([*plan.done, *plan.broken], len(plan.missing)):
        write_end(directory / str(number), job.end())


def _has_launcher(hydra: Any, name: str) -> bool:
    """Whether the chosen launcher is the one of this name."""
    return str(hydra.launcher._target_).endswith(name)


def wait_for(target: Target | None) -> None:
    """Wait for the process that is executing a job; a lock of a process that has died is free."""
    if target and target.lock:
        with waiting_lock(target.lock, f"{target.record.parent} is being executed", print_line):
            pass


def _take_gpu(command: Any, number: int) -> None:
    """Give a job that runs next to others its own GPU, if it uses one."""
    trainer = command.trainer
    if trainer.accelerator != "cpu" and trainer.devices == 1:
        take_gpu(number, command.paths.cache / "slots" / platform.node())
