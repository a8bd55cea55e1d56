"""Load the plug-ins that configuration files name; no code in the package names a task or an encoder.

The configuration of a run may come from a stranger's record. A dotted path is therefore imported only if a
file of conf, of an installed package or of a directory given with --config-dir names it.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from elmo_bench.catalog import list_plugins
from elmo_bench.config import TaskConfig, explain_validation, nearest
from elmo_bench.task import AnyTask, Task
from elmo_bench.types import UsageError

Plugin = TypeVar("Plugin")


def load_task(config: TaskConfig) -> AnyTask:
    """The plug-in that a task's file names, with its settings checked."""
    plugin: type[AnyTask] = find_class(config.plugin, Task, "task")
    return fill_settings(plugin, config.settings, "task.settings")


def load_reader(config: TaskConfig) -> AnyTask:
    """The plug-in with the settings for reading only the text of a corpus."""
    return load_task(config.model_copy(update={"settings": {**config.settings, **config.text}}))


def find_class(path: str, base: type[Any], group: str) -> type[Any]:
    """The class that a file of the group names, checked to be a subclass of `base` before it is called."""
    if path not in list_plugins(group).values():
        raise UsageError(
            f"{group}.plugin={path}: no file of conf/{group} names this class, so it is not imported; name "
            f"it in a file {group}/NAME.yaml in a directory of your own, and give that with --config-dir DIR"
        )
    return import_class(path, base, f"{group}.plugin")


def import_class(path: str, base: type[Any], key: str) -> type[Any]:
    """The class at a dotted path of a configuration file."""
    module_name, _, class_name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"{key}={path}: cannot be loaded ({error})") from error
    if not isinstance(found, type) or found is base or base not in found.__mro__:
        raise UsageError(
            f"{key}={path}: expected a subclass of {base.__module__}.{base.__name__}, got {found!r}"
        )
    return found


def fill_settings(plugin: type[Plugin], settings: Mapping[str, Any], key: str) -> Plugin:
    """An instance of a plug-in, which is a dataclass of its settings; an error names every invalid key."""
    if not dataclasses.is_dataclass(plugin):
        raise UsageError(
            f"{key}: {plugin.__module__}.{plugin.__name__} must be a dataclass, whose fields are its settings"
        )
    fields = {field.name: field for field in dataclasses.fields(plugin) if field.init}
    unknown = [name for name in settings if name not in fields]
    if unknown:
        raise UsageError(
            "\n".join(f"{key}.{name}: there is no such key{nearest(name, fields)}" for name in unknown)
        )
    try:
        filled: Plugin = TypeAdapter(plugin).validate_python(dict(settings))
    except ValidationError as error:
        raise UsageError(explain_validation(error, fields, key)) from None
    return filled
