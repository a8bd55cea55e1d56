"""The jobs of a sweep: one list of overrides each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from hydra.core.override_parser.types import Override
from pydantic import Field

from elmo_bench.config import Config, nearest
from elmo_bench.types import UsageError

TASK = "task"
Parse = Callable[[Sequence[str]], list[Override]]
Choices = dict[str, list[str]]  # overrides to try, by key


class SweepConfig(Config):
    """`hydra.sweeper`: what an experiment sweeps (conf/hydra/sweeper/jobs.yaml)."""

    params: dict[str, Any]  # the values to try by key, as on the command line; the first key is the outermost
    by_task: dict[str, dict[str, Any]] = Field(default_factory=dict)  # instead of params, for some tasks
    conditions: dict[str, tuple[str, ...]]  # named lists of overrides, for what is not a Cartesian product
    primary: str | None  # the primary file of the jobs in conf; null: that of the script
    table: dict[str, Any] | None  # read by the report


def list_jobs(parse: Parse, sweep: SweepConfig, words: Sequence[str]) -> list[list[str]]:
    """Every combination of the swept values, once for each condition.

    The command line takes precedence over the experiment's values of a key. A condition takes precedence
    over the command line: `encoder=small` must not change a control condition with another encoder. A
    condition that names a task is of that task's jobs only.
    """
    typed = read_choices(parse, words)
    usual = {**read_choices(parse, _spell(sweep.params)), **typed}
    decided = [read_choices(parse, condition) for condition in sweep.conditions.values()] or [{}]
    for key in usual:
        if sweep.conditions and all(key in condition for condition in decided):
            raise UsageError(
                f"{key}: the conditions of this experiment decide it ({', '.join(sweep.conditions)}); "
                f"leave one out with '~hydra.sweeper.conditions.{next(iter(sweep.conditions))}'"
            )
    jobs: dict[tuple[str, ...], None] = {}  # in order, each once
    for chosen in _combine(usual, _read_special(parse, sweep, typed)):
        for condition in (one for one in decided if _is_of_task(one, chosen)):
            jobs.update(dict.fromkeys(product(*{**chosen, **condition}.values())))
    return [list(job) for job in jobs]


def _is_of_task(condition: Choices, chosen: Choices) -> bool:
    """Whether a condition may change jobs of the chosen task."""
    return TASK not in condition or TASK not in chosen or chosen[TASK][0] in condition[TASK]


def _combine(usual: Choices, special: Mapping[str, Choices]) -> Iterator[Choices]:
    """All combinations of one value per key; a task skips the values that are not among its own."""
    tried = {
        key: list(dict.fromkeys([*words, *(word for own in special.values() for word in own.get(key, []))]))
        for key, words in usual.items()
    }
    for chosen in product(*tried.values()):
        job = dict(zip(tried, chosen, strict=True))
        allowed = {**usual, **special.get(job.get(TASK, ""), {})}
        if all(word in allowed[key] for key, word in job.items()):
            yield {key: [word] for key, word in job.items()}


def _read_special(parse: Parse, sweep: SweepConfig, typed: Choices) -> dict[str, Choices]:
    """The values of `by_task`, by the override that chooses the task; the command line takes precedence."""
    _check_special(parse, sweep)
    return {
        f"{TASK}={task}": {
            key: words for key, words in read_choices(parse, _spell(values)).items() if key not in typed
        }
        for task, values in sweep.by_task.items()
    }


def _check_special(parse: Parse, sweep: SweepConfig) -> None:
    """Refuse values of `by_task` that no job would have: a sweep must not be another one than it says."""
    params = read_choices(parse, _spell(sweep.params))
    tasks = [word.removeprefix(f"{TASK}=") for word in params.get(TASK, [])]
    for task, values in sweep.by_task.items():
        if tasks and task not in tasks:
            raise UsageError(
                f"by_task.{task}: params.task has no such task{nearest(task, tasks)} ({', '.join(tasks)})"
            )
        for key in read_choices(parse, _spell(values)):
            if key not in params:
                raise UsageError(f"by_task.{task}.{key}: expected a key of params ({', '.join(params)})")


def _spell(values: Mapping[str, Any]) -> list[str]:
    return [f"{key}={value}" for key, value in values.items()]


def read_choices(parse: Parse, words: Sequence[str]) -> Choices:
    """The overrides to try for each key."""
    choices: Choices = {}
    for override in parse(words):
        key = override.get_key_element()
        if override.is_sweep_override():
            if not override.is_discrete_sweep():
                raise UsageError(f"{override.input_line}: expected values to try, separated by commas")
            choices[key] = [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            value = override.get_value_element_as_str()
            choices[key] = [key if override.is_delete() and override.value() is None else f"{key}={value}"]
    return choices
