"""The jobs of a sweep: one list of overrides each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from elmo_bench.catalog import CONF
from elmo_bench.types import UsageError

EXPERIMENT = "+experiment="
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
            choices[key] = [key if override.is_delete() and override.value() is None else f"{key}={value}"]
    return choices


def read_sweeper(arguments: Sequence[str]) -> dict[str, Any]:
    """What the experiment on the command line says of its jobs; nothing where there is no such experiment."""
    names = [argument.removeprefix(EXPERIMENT) for argument in arguments if argument.startswith(EXPERIMENT)]
    path = CONF / "experiment" / f"{names[-1]}.yaml" if names else CONF
    if not path.is_file():
        return {}  # Hydra will say what there is
    values = OmegaConf.to_container(OmegaConf.load(path))
    assert isinstance(values, dict)
    return dict(values["hydra"]["sweeper"])


def read_params(arguments: Sequence[str]) -> list[str]:
    """What the experiment on the command line sweeps."""
    return [f"{key}={value}" for key, value in read_sweeper(arguments).get("params", {}).items()]


def split_sweep(arguments: Sequence[str], params: list[str]) -> tuple[list[str], list[str]]:
    """The overrides of a sweep's jobs, and a command line with the first choice of each.

    Hydra composes once for the sweep as a whole, and cannot where the task is not known yet: there the first
    choice stands for all. What concerns Hydra itself stays with it.
    """
    parse = OverridesParser.create().parse_overrides
    words = [word for word in arguments if is_override(word)]
    of_jobs = [word for word in words if not parse([word])[0].key_or_group.startswith(("hydra.", "hydra/"))]
    firsts = [choices[0] for choices in read_choices(parse, [*params, *of_jobs]).values()]
    return of_jobs, [*(word for word in arguments if word not in of_jobs), *firsts]


def is_override(word: str) -> bool:
    """Whether a word of the command line is an override, and not one of Hydra's own flags."""
    return not word.startswith("-") and ("=" in word or word.startswith("~"))
