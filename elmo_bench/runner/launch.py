"""Hydra's side of the house: compose, launch one job or a sweep, and turn errors into exit codes."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from elmo_bench.files import write_atomically
from elmo_bench.runner.explanation import CONF, explain_composition, overview
from elmo_bench.runner.own_models import offer_models
from elmo_bench.runner.sweeps import OUTCOME, JobEnd, conclude, read_ends
from elmo_bench.types import BenchError, InterruptedRunError, UsageError

Job = Callable[[dict[str, Any]], Path | None]
"""What one composed configuration is handed to; it answers with the record's file, where it wrote one."""


def launch(name: str, usage: str, arguments: list[str], job: Job) -> int:
    """Run what the command line asks for and answer with the exit code."""
    if {"-h", "--help"} & set(arguments):
        print(overview(usage))
        return 0
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us instead of being printed by Hydra
    sweep = Path(f"results/sweeps/{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
    many = "-m" in arguments or "--multirun" in arguments
    ends: list[JobEnd] = []

    def task_function(composed: DictConfig) -> None:
        overrides = list(HydraConfig.get().overrides.task)
        directory = Path(HydraConfig.get().runtime.output_dir) if many else None
        end = guard(lambda: job(plain(composed)), overrides)
        if directory:
            write_atomically(directory / OUTCOME, json.dumps(vars(end)).encode())
        ends.append(end)
        if end.exit_code == InterruptedRunError.exit_code:
            raise KeyboardInterrupt  # the person asked to stop, not only this job

    offer_models(arguments)
    sys.argv = [sys.argv[0], *arguments, *([f"hydra.sweep.dir={sweep}"] if many else [])]
    main = hydra.main(version_base=None, config_path=str(CONF), config_name=name)(task_function)
    try:
        main()
    except KeyboardInterrupt:
        if many:
            conclude(read_ends(sweep))
        return InterruptedRunError.exit_code
    except (HydraException, OmegaConfBaseException) as error:
        print(explain_composition(error, name, arguments), file=sys.stderr)
        return UsageError.exit_code
    if many:
        return conclude(read_ends(sweep))
    return ends[0].exit_code if ends else 0


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
