"""The jobs of a sweep: one list of overrides each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from hydra.core.override_parser.types import Override

from elmo_bench.config import Config
from elmo_bench.types import UsageError

Parse = Callable[[Sequence[str]], list[Override]]


class SweepConfig(Config):
    """`hydra.sweeper`: what an experiment sweeps (conf/hydra/sweeper/jobs.yaml)."""

    params: dict[str, Any]  # the values to try by key, as on the command line; the first key is the outermost
    conditions: dict[str, tuple[str, ...]]  # overrides by name, for what is no product
    primary: str | None  # the file of conf that the jobs are composed from; null: that of the script
    table: dict[str, Any] | None  # read by the report


def list_jobs(parse: Parse, sweep: SweepConfig, words: Sequence[str]) -> list[list[str]]:
    """Every combination of what is swept, once under each condition.

    The command line precedes the experiment's own values of a key. A condition precedes the command
    line: `encoder=small` is not meant for the control that has another encoder.
    """
    params = [f"{key}={value}" for key, value in sweep.params.items()]
    swept = read_choices(parse, [*params, *words])
    decided = [read_choices(parse, condition) for condition in sweep.conditions.values()] or [{}]
    for key in swept:
        if sweep.conditions and all(key in condition for condition in decided):
            raise UsageError(
                f"{key}: the conditions of this experiment decide it ({', '.join(sweep.conditions)}); "
                f"leave one out with '~hydra.sweeper.conditions.{next(iter(sweep.conditions))}'"
            )
    jobs: dict[tuple[str, ...], None] = {}  # in order, each once
    for chosen in product(*swept.values()):
        choices = {key: [word] for key, word in zip(swept, chosen, strict=True)}
        for condition in decided:
            jobs.update(dict.fromkeys(product(*{**choices, **condition}.values())))
    return [list(job) for job in jobs]


def read_choices(parse: Parse, words: Sequence[str]) -> dict[str, list[str]]:
    """The overrides that each key is to be tried with."""
    choices = {}
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
