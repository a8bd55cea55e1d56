"""Compose configurations as run.py and pretrain.py do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from elmo_bench.catalog import read_task
from elmo_bench.config import RunConfig, read_config
from elmo_bench.plugins import load_task
from elmo_bench.sweep import finetuning, neighbours
from elmo_bench.sweep import pretraining as pretraining_jobs
from elmo_bench.sweep.compose import open_composer
from elmo_bench.sweep.plan import Target
from elmo_bench.task import AnyTask
from tests.conftest import PROJECT

Settings = TypeVar("Settings")
TASKS = sorted(path.stem for path in (PROJECT / "conf" / "task").glob("*.yaml"))


def compose(*overrides: str, entry: str = "config") -> dict[str, Any]:
    """The resolved plain configuration of a command line."""
    with open_composer(overrides) as composer:
        return composer.values(entry, overrides)


def make_task(name: str, head: Mapping[str, Any] | None = None, **settings: Any) -> AnyTask:
    """The task of conf/task with some of its settings changed."""
    config = read_task(name)
    known = config.settings
    if head:
        settings["head"] = {**known["head"], **head}
    return load_task(config.model_copy(update={"settings": {**known, **settings}}))


def head_settings(kind: type[Settings], task: str, **changes: Any) -> Settings:
    """The head's settings in conf/task with some of them changed."""
    return kind(**{**read_task(task).settings["head"], **changes})


def pretraining(root: Path, *overrides: str, entry: str = "pretrain") -> dict[str, Any]:
    """What pretrain.py is handed, everything below `root`; entry=finetune is its other form."""
    places = [f"paths.{name}={root / name}" for name in ("models", "runs", "cache")]
    return compose(*places, "trainer.threads=1", *overrides, entry=entry)


def run_config(*overrides: str, root: Path | None = None) -> RunConfig:
    """The typed configuration of a command line; everything is written below `root`."""
    places = [f"paths.{name}={root / name}" for name in ("runs", "cache", "records")] if root else []
    return read_config(RunConfig, compose(*overrides, *places))


def pretrain_one(values: dict[str, Any]) -> Path:
    """What pretrain.py does with composed values."""
    return pretraining_jobs.pretrain_one(pretraining_jobs.KIND.read(values), ())


def finetune_one(values: dict[str, Any]) -> Path:
    """What pretrain.py does with composed values of finetune=TASK."""
    return finetuning.finetune_one(finetuning.KIND.read(values), ())


def answer_one(values: dict[str, Any]) -> Path:
    """What a job of the experiment table4 does with composed values."""
    return neighbours.answer_one(neighbours.KIND.read(values), ())


def locate_answer(values: dict[str, Any]) -> Target:
    """Where the record of such a job is or will be."""
    return neighbours.locate_answer(neighbours.KIND.read(values))
