"""Turn a command line into one job or a sweep, and into an exit code."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from elmo_bench.catalog import check_experiment
from elmo_bench.config import read_config
from elmo_bench.directories import add_directory
from elmo_bench.extras import EXTRAS, require_extra
from elmo_bench.output import outlive_output
from elmo_bench.sweep.arguments import Arguments, read_arguments
from elmo_bench.sweep.compose import EXPERIMENT, Composer, open_composer, to_values
from elmo_bench.sweep.guard import guard
from elmo_bench.sweep.help import describe_usage
from elmo_bench.sweep.jobs import SweepConfig
from elmo_bench.sweep.kinds import JobKind
from elmo_bench.sweep.multirun import launch_sweep, wait_for
from elmo_bench.sweep.plan import describe_plan, plan_jobs
from elmo_bench.training.stopping import stop_on_signals
from elmo_bench.types import BenchError, InterruptedRunError, UsageError

LAUNCHER = "hydra/launcher"  # the group of what starts the jobs of a sweep


@dataclass(frozen=True)
class Script:
    """A script and the kinds of jobs that its command line can select."""

    kinds: Mapping[str, str]  # modules by the primary file of conf; imported when needed, which takes seconds
    groups: Mapping[str, str]  # of files to choose from, by the word that chooses one; for --help
    selected_by: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # key: primary file, its own key

    @property
    def primary(self) -> str:
        """The primary file of the jobs, unless the command line selects another."""
        return next(iter(self.kinds))

    def load(self, primary: str) -> JobKind[Any]:
        """The kind of jobs that a primary file describes."""
        if primary not in self.kinds:
            raise UsageError(
                f"hydra.sweeper.primary={primary}: expected one of {', '.join(self.kinds)} for this script"
            )
        kind: JobKind[Any] = importlib.import_module(self.kinds[primary]).KIND
        return kind


def launch(script: Script, usage: str, words: Sequence[str]) -> int:
    """Execute a command line and return the exit code."""
    arguments = read_arguments(words)
    try:
        for directory in arguments.directories:
            add_directory(directory)
        if arguments.help:
            print(describe_usage(usage, script.groups))
            return 0
        with stop_on_signals(), open_composer(arguments.overrides) as composer:
            return _answer(script, composer, arguments)
    except (BenchError, InterruptedRunError) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def _answer(script: Script, composer: Composer, arguments: Arguments) -> int:
    composer.refuse_repeated(arguments.overrides)
    require_launcher(composer, arguments.overrides)
    if (arguments.package or arguments.resolve) and not arguments.show:
        raise UsageError("--package and --resolve: they say what --cfg prints; give --cfg job, too")
    primary, overrides = select(script, composer, arguments.overrides)
    sweep = read_sweep(composer, primary, overrides)
    primary = sweep.primary or primary
    if arguments.show or arguments.info or arguments.completion:
        _show(composer, primary, overrides, arguments)
        return 0
    if arguments.sweep:
        return launch_sweep(composer, script.load(primary), sweep, overrides)
    if any(override.key_or_group == EXPERIMENT for override in composer.parse(overrides)):
        raise UsageError("an experiment is a sweep: add -m")
    for override in composer.parse(overrides):
        if override.key_or_group.replace("/", ".").startswith("hydra.launcher"):
            raise UsageError(f"{override.input_line}: only sweeps have a launcher: add -m")
    return _run_single(composer, script.load(primary), overrides)


def select(script: Script, composer: Composer, words: Sequence[str]) -> tuple[str, list[str]]:
    """The primary file that the overrides select, and the overrides in its own keys."""
    primary, overrides = script.primary, []
    for override in composer.parse(words):
        word = str(override.input_line)
        if override.key_or_group in script.selected_by:
            primary, key = script.selected_by[override.key_or_group]
            word = word.replace(override.key_or_group, key, 1)
        overrides.append(word)
    return primary, overrides


def require_launcher(composer: Composer, words: Sequence[str]) -> None:
    """Refuse a launcher whose extra is not installed: Hydra would only name a file that it does not find."""
    for override in composer.parse(words):
        if override.key_or_group == LAUNCHER and not override.is_sweep_override():
            for package in EXTRAS.get(str(override.value()), ()):  # launchers are named as their extras
                require_extra(package, f"{LAUNCHER}={override.value()}")


def read_sweep(composer: Composer, primary: str, overrides: Sequence[str]) -> SweepConfig:
    """The settings of `hydra.sweeper` with the chosen experiment, if there is one."""
    parsed = composer.parse(overrides)
    words = [
        str(override.input_line)
        for override in parsed
        if override.is_hydra_override() or override.key_or_group == EXPERIMENT
    ]
    for override in parsed:
        if override.key_or_group == EXPERIMENT and not override.is_sweep_override():
            check_experiment(str(override.value()))
    composed = composer.load(primary, words, RunMode.MULTIRUN)
    return read_config(SweepConfig, to_values(composed.hydra.sweeper), "hydra.sweeper")


def _run_single(composer: Composer, kind: JobKind[Any], overrides: Sequence[str]) -> int:
    jobs = kind.expand(list(overrides), lambda job: kind.read(composer.values(kind.primary, job)))
    if len(jobs) > 1:
        several = " ".join(word for word in overrides if word not in jobs[0])
        raise UsageError(f"{several}: several values are a sweep: add -m")
    command = kind.read(composer.values(kind.primary, jobs[0]))
    if command.plan:
        plan = plan_jobs([list(overrides)], lambda _: kind.locate(command))
        if plan.common_error:
            raise plan.common_error
        print(describe_plan(plan))
        return 0
    with outlive_output():
        while (end := guard(lambda: kind.run(command, overrides), list(overrides))).is_busy:
            wait_for(kind.locate(command))
    return end.exit_code


def _show(composer: Composer, primary: str, overrides: Sequence[str], arguments: Arguments) -> None:
    """Print the composed configuration; Hydra itself answers --info and --shell-completion."""
    if arguments.sweep and any(override.is_sweep_override() for override in composer.parse(overrides)):
        raise UsageError("--cfg and --info show one job: give every key one value; plan=true lists all jobs")
    words = composer.translate(primary, overrides)
    hydra = GlobalHydra.instance().hydra
    assert hydra
    if arguments.completion:
        hydra.shell_completion(primary, [arguments.completion])
    elif arguments.info:
        hydra.show_info(arguments.info, primary, words)
    else:
        composer.values(primary, overrides)  # reports its errors as for a run
        try:
            hydra.show_cfg(primary, words, str(arguments.show), arguments.package, arguments.resolve)
        except SystemExit:  # after a line on standard error
            raise UsageError(f"--package {arguments.package}: expected a key of the configuration") from None
