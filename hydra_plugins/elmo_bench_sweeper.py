"""What Hydra calls for a sweep; it looks for sweepers in this folder only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from elmo_bench.sweep.outcomes import launch_all
from elmo_bench.sweep.overrides import list_jobs


class JobSweeper(Sweeper):
    """Lists the jobs, lets the task function leave out what is done, and launches the rest."""

    def __init__(
        self,
        params: Mapping[str, Any],
        conditions: Mapping[str, Sequence[str]],
        entry: str,
        table: Mapping[str, Any] | None = None,  # read by the report, not here
    ) -> None:
        self.params = params
        self.conditions = conditions
        self.entry = entry  # was read from the experiment's file before Hydra started

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.master = config
        self.context = hydra_context
        self.task_function: Any = task_function
        self.launcher: Launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        loader = self.context.config_loader
        parse = OverridesParser.create(config_loader=loader).parse_overrides
        # Hydra was given the first choice of each alone; see split_sweep.
        jobs = list_jobs(parse, self.params, self.conditions, self.task_function.arguments)
        sweep = Path(self.master.hydra.sweep.dir)
        missing = self.task_function.choose(
            jobs, sweep, lambda overrides: loader.load_sweep_config(self.master, overrides)
        )
        launch_all(missing, sweep, self._launch)

    def _launch(self, jobs: list[list[str]], first: int) -> None:
        self.launcher.launch(jobs, initial_job_idx=first)
