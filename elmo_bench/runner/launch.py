"""Hydra's side of the house: compose, launch one job or a sweep, and turn errors into exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from elmo_bench.config import RunConfig, nearest, read_config
from elmo_bench.files import write_atomically
from elmo_bench.types import BenchError, InterruptedRunError, UsageError

Job = Callable[[dict[str, Any]], Path | None]
"""What one composed configuration is handed to; it answers with the record's file, where it wrote one."""

OUTCOME = "outcome.json"

USAGE = """What a contextual word representation is worth on a downstream task.

  python run.py task=ner elmo.lambda=0.001               one run: NER with ELMo on the built-in data
  python run.py task=ner elmo=none                       its baseline
  python run.py -m task=ner elmo=none,paper seed=1,2,3   a sweep of six runs
  python run.py task=ner data=open                       a real corpus
  python run.py task=ner debug=fast                      does it run at all?
  python -m elmo_bench --help                            scores, embeddings, reports

Groups, and the choices of each (elmo=none, data=open, ...):
"""


@dataclass(frozen=True)
class JobEnd:
    """How one job of a sweep ended, as its process wrote it down."""

    overrides: list[str]
    exit_code: int
    error: str
    result: str = ""  # the record's file


def launch(conf: Path, name: str, arguments: list[str], job: Job | None = None) -> int:
    """Run what the command line asks for and answer with the exit code."""
    if {"-h", "--help"} & set(arguments):
        print(overview(conf))
        return 0
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us instead of being printed by Hydra
    job = job or run_one
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

    sys.argv = ["run.py", *arguments, *([f"hydra.sweep.dir={sweep}"] if many else [])]
    main = hydra.main(version_base=None, config_path=str(conf), config_name=name)(task_function)
    try:
        main()
    except KeyboardInterrupt:
        if many:
            conclude(read_ends(sweep))
        return InterruptedRunError.exit_code
    except (HydraException, OmegaConfBaseException) as error:
        print(explain_composition(error, conf, name, arguments), file=sys.stderr)
        return UsageError.exit_code
    if many:
        return conclude(read_ends(sweep))
    return ends[0].exit_code if ends else 0


def overview(conf: Path) -> str:
    """How to run, and the choices of every group."""
    groups = sorted(path for path in conf.iterdir() if path.is_dir())
    lines = [
        f"  {group.name:10} {' '.join(sorted(file.stem for file in group.glob('*.yaml')))}"
        for group in groups
    ]
    return "\n".join([USAGE, *lines, "", "The whole configuration: python run.py task=ner --cfg job"])


def plain(composed: DictConfig) -> dict[str, Any]:
    """The resolved configuration as plain values."""
    values = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


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


def read_ends(sweep: Path) -> list[JobEnd]:
    """How the jobs of a sweep ended; one that wrote nothing was killed."""
    ends = []
    for directory in sorted(sweep.glob("[0-9]*"), key=lambda path: int(path.name)):
        outcome = directory / OUTCOME
        if outcome.exists():
            ends.append(JobEnd(**json.loads(outcome.read_text())))
        else:
            ends.append(JobEnd([f"job {directory.name}"], 1, "killed before it could say why"))
    return ends


def conclude(ends: list[JobEnd]) -> int:
    """Name the jobs of a sweep that failed; all is well only if none did."""
    failed = [end for end in ends if end.exit_code]
    results = sorted({end.result for end in ends if end.result})
    if results:
        from elmo_bench.records import read_record
        from elmo_bench.report.summary import summarise

        print(f"\n{summarise([read_record(Path(result)) for result in results])}")
    print(f"\n{len(ends) - len(failed)} of {len(ends)} jobs done")
    for end in failed:
        print(f"  failed: {' '.join(end.overrides)}\n    {end.error}")
    if any(end.exit_code == InterruptedRunError.exit_code for end in failed):
        return InterruptedRunError.exit_code
    return 1 if failed else 0


def explain_composition(error: Exception, conf: Path, name: str, arguments: list[str]) -> str:
    """Hydra's complaint in one or two lines, with the nearest name that exists."""
    message = str(error)
    if group := re.search(r"Could not find '([\w@/]+)/([^'/]+)'", message):
        choices = sorted(path.stem for path in (conf / group[1]).glob("*.yaml"))
        hint = nearest(group[2], choices)
        return (
            f"error: {group[1]}={group[2]}: there is no such choice{hint} (there are: {', '.join(choices)})"
        )
    if key := re.search(r"Could not override '([^']+)'", message):
        hint = nearest(key[1], known_keys(conf, name, arguments))
        return f"error: {key[1]}: there is no such key{hint}"
    if group := re.search(r"You must specify '([^']+)'", message):
        choices = sorted(path.stem for path in (conf / group[1]).glob("*.yaml"))
        return f"error: choose a {group[1]}: {group[1]}={choices[0]} (there are: {', '.join(choices)})"
    return f"error: {message}"


def known_keys(conf: Path, name: str, arguments: list[str]) -> list[str]:
    """Every dotted key of the configuration that the command line's group choices compose."""
    choices = [argument for argument in arguments if re.fullmatch(r"[\w/]+=[\w/]+", argument)]
    choices = [choice for choice in choices if (conf / choice.split("=")[0]).is_dir()]
    with hydra.initialize_config_dir(str(conf), version_base=None):
        composed = hydra.compose(name, choices)
    return list(_dotted(OmegaConf.to_container(composed, resolve=False), ""))


def _dotted(values: Any, prefix: str) -> Iterator[str]:
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{key}.")
