"""Load a task's plug-in from its dotted path; nothing in the package knows the tasks by name."""

from __future__ import annotations

import importlib

from pydantic import TypeAdapter, ValidationError

from elmo_bench.config import TaskConfig, explain_validation
from elmo_bench.task import AnyTask
from elmo_bench.types import UsageError


def load_task(config: TaskConfig) -> AnyTask:
    """The plug-in that a task's file names, with its settings checked."""
    module_name, _, class_name = config.plugin.rpartition(".")
    try:
        plugin = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"task.plugin={config.plugin}: cannot be loaded ({error})") from error
    try:
        task: AnyTask = TypeAdapter(plugin).validate_python(config.settings)
    except ValidationError as error:
        raise UsageError(explain_validation(error, plugin.__annotations__, "task.settings")) from None
    return task


def load_reader(config: TaskConfig) -> AnyTask:
    """The plug-in as it reads a corpus for its text alone."""
    return load_task(config.model_copy(update={"settings": {**config.settings, **config.text}}))
