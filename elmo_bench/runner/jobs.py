"""The jobs of a sweep: one list of overrides each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from hydra.core.override_parser.types import Override

from elmo_bench.types import UsageError

Parse = Callable[[list[str]], list[Override]]


def list_jobs(
    parse: Parse, params: Mapping[str, Any], conditions: Mapping[str, Sequence[str]], arguments: Sequence[str]
) -> list[list[str]]:
    """Every combination of what is swept, once under each condition.

    The command line goes before the experiment's own values of a key. A condition goes before the command
    line: `encoder=small` is not meant for the control that has another encoder.
    """
    swept = read_choices(parse, [*(f"{key}={value}" for key, value in params.items()), *arguments])
    decided = [read_choices(parse, list(condition)) for condition in conditions.values()] or [{}]
    for key in swept:
        if conditions and all(key in condition for condition in decided):
            raise UsageError(
                f"{key}: the conditions of this experiment decide it ({', '.join(conditions)}); "
                f"leave one out with '~hydra.sweeper.conditions.{next(iter(conditions))}'"
            )
    jobs: dict[tuple[str, ...], None] = {}  # in order, each once
    for words in product(*swept.values()):
        chosen = {key: [word] for key, word in zip(swept, words, strict=True)}
        for condition in decided:
            jobs.update(dict.fromkeys(product(*{**chosen, **condition}.values())))
    return [list(job) for job in jobs]


def read_choices(parse: Parse, words: list[str]) -> dict[str, list[str]]:
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
            choices[key] = [key if override.is_delete() and not value else f"{key}={value}"]
    return choices
