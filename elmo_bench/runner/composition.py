"""The configuration of a command line without running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from elmo_bench.config import TaskConfig, read_config
from elmo_bench.runner.explanation import CONF, explain_composition
from elmo_bench.runner.launch import plain
from elmo_bench.runner.own_models import offer_models
from elmo_bench.types import UsageError


def compose(overrides: Sequence[str], name: str = "config") -> dict[str, Any]:
    """What run.py would hand to a job for these words, or what is wrong with them."""
    offer_models(overrides)
    try:
        with hydra.initialize_config_dir(str(CONF), version_base=None):
            return plain(hydra.compose(name, list(overrides)))
    except (HydraException, OmegaConfBaseException) as error:
        message = explain_composition(error, name, list(overrides))
        raise UsageError(message.removeprefix("error: ")) from None


def list_tasks() -> list[str]:
    """Every task there is a file for."""
    return sorted(path.stem for path in (CONF / "task").glob("*.yaml"))


def read_task(name: str) -> TaskConfig:
    """What a task's file says, as no size has changed it."""
    values = OmegaConf.to_container(OmegaConf.load(CONF / "task" / f"{name}.yaml"), resolve=True)
    assert isinstance(values, dict)
    return read_config(TaskConfig, {str(key): value for key, value in values.items()}, "task")


def list_corpora() -> dict[str, dict[str, frozenset[str]]]:
    """Which corpora every task can be run on, by source."""
    corpora = {}
    for task in list_tasks():
        sources = OmegaConf.load(CONF / "task" / f"{task}.yaml").sources
        corpora[task] = {
            str(name): frozenset(map(str, source)) - {"default"} for name, source in sources.items()
        }
    return corpora


def list_fractions() -> dict[tuple[str, str], float]:
    """By task and size, the part of the training set that a size keeps; those that keep all are left out."""
    fractions = {}
    for path in (CONF / "size").glob("*_*.yaml"):
        task, _, size = path.stem.rpartition("_")
        if fraction := OmegaConf.select(OmegaConf.load(path), "data.fraction"):
            fractions[task, size] = float(fraction)
    return fractions
