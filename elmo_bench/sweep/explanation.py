"""The configuration in words: how to use it, and what is wrong with a command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import hydra
from omegaconf import OmegaConf

from elmo_bench.catalog import CONF
from elmo_bench.config import nearest


def overview(usage: str) -> str:
    """How to run, and the choices of every group."""
    groups = [*sorted({path.parent for path in CONF.glob("*/*.yaml")}), CONF / "hydra" / "launcher"]
    lines = [
        f"  {group.relative_to(CONF)!s:14} {' '.join(sorted(file.stem for file in group.glob('*.yaml')))}"
        for group in groups
    ]
    return "\n".join([usage.strip(), "", *lines])


def explain_composition(error: Exception, name: str, arguments: list[str]) -> str:
    """Hydra's complaint in one or two lines, with the nearest name that exists."""
    message = str(error)
    if group := re.search(r"Could not find '([\w@/]+)/([^'/]+)'", message):
        choices = sorted(path.stem for path in (CONF / group[1]).glob("*.yaml"))
        hint = nearest(group[2], choices)
        called = called_on(name, group[1])
        return f"error: {called}={group[2]}: there is no such choice{hint} (there are: {', '.join(choices)})"
    if key := re.search(r"Could not override '([^']+)'", message):
        hint = nearest(key[1], known_keys(name, arguments))
        return f"error: {key[1]}: there is no such key{hint}"
    if group := re.search(r"You must specify '([^']+)'", message):
        choices = sorted(path.stem for path in (CONF / group[1]).glob("*.yaml"))
        called = called_on(name, group[1])
        return f"error: choose a {group[1]}: {called}={choices[0]} (there are: {', '.join(choices)})"
    return f"error: {message}"


def called_on(name: str, group: str) -> str:
    """A group's name on the command line: `finetune=ner` is a choice of task to Hydra."""
    return name if (name, group) == ("finetune", "task") else group


def known_keys(name: str, arguments: list[str]) -> list[str]:
    """Every dotted key of the configuration that the command line's group choices compose."""
    choices = [argument for argument in arguments if re.fullmatch(r"[\w/]+=[\w/]+", argument)]
    choices = [choice for choice in choices if (CONF / choice.split("=")[0]).is_dir()]
    with hydra.initialize_config_dir(str(CONF), version_base=None):
        composed = hydra.compose(name, choices)
    return list(_dotted(OmegaConf.to_container(composed, resolve=False), ""))


def _dotted(values: Any, prefix: str) -> Iterator[str]:
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{key}.")
