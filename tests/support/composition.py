"""Compose configurations as run.py and pretrain.py do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import hydra
from omegaconf import OmegaConf

from elmo_bench.catalog import read_task
from elmo_bench.config import RunConfig, read_config
from elmo_bench.plugins import load_task
from elmo_bench.task import AnyTask
from tests.conftest import PROJECT

Settings = TypeVar("Settings")
TASKS = sorted(path.stem for path in (PROJECT / "conf" / "task").glob("*.yaml"))


def compose(*overrides: str, entry: str = "config") -> dict[str, Any]:
    """The resolved plain configuration of a command line."""
    with hydra.initialize_config_dir(str(PROJECT / "conf"), version_base=None):
        composed = hydra.compose(entry, list(overrides))
    values = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


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
