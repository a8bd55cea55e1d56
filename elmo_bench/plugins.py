"""Load the plug-ins that configuration files name; no code in the package names a task or an encoder.

The configuration of a run may come from a stranger's record. A dotted path is therefore imported only if a
file of conf, of an installed package or of a directory given with --config-dir names it.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from elmo_bench.catalog import list_plugins
from elmo_bench.config import TaskConfig, explain_validation, nearest
from elmo_bench.task import AnyTask, Task
from elmo_bench.types import BenchError, Counts, Scores, UsageError

Plugin = TypeVar("Plugin")
OWN_FRAMES = (__file__, importlib.__file__)  # an import that fails here found no module or no name


def load_task(config: TaskConfig) -> AnyTask:
    """The plug-in that a task's file names, with its settings checked."""
    plugin: type[AnyTask] = find_class(config.plugin, Task, "task")
    return fill_settings(plugin, config.settings, "task.settings")


def find_score(config: TaskConfig) -> Callable[[Sequence[Counts]], Scores]:
    """The score of a task of conf, without importing PyTorch where its file names the function."""
    if not config.score:
        return load_task(config).score
    score: Callable[[Sequence[Counts]], Scores] = import_name(config.score, "task.score")
    if not callable(score):
        raise UsageError(f"task.score={config.score}: expected a function of counts, got {score!r}")
    return score


def find_version(config: TaskConfig) -> int:
    """The version of the plug-in, if possible without importing it, which also imports PyTorch."""
    if config.plugin.rpartition(".")[0] not in sys.modules:
        declared = declared_version(config.plugin)
        if declared is not None:
            return declared
    return load_task(config).version


def declared_version(path: str) -> int | None:
    """The `version` that the source of a class declares; None if only importing it can tell."""
    module, _, name = path.rpartition(".")
    source = find_source(module)
    if source is None:
        return None
    package = module if source.name == "__init__.py" else module.rpartition(".")[0]
    try:
        statements = ast.parse(source.read_bytes()).body
    except (SyntaxError, ValueError):  # the import says where
        return None
    for statement in statements:
        match statement:
            case ast.ClassDef() if statement.name == name:
                return _read_version(statement.body)
            case ast.ImportFrom(module=str(origin), level=level) if _binds(statement, name):
                return declared_version(
                    f"{importlib.util.resolve_name('.' * level + origin, package)}.{name}"
                )
    return None


def find_source(module: str) -> Path | None:
    """The Python file of a module, found without importing it or its packages."""
    names = module.split(".")
    spec = importlib.util.find_spec(names[0]) if names[0] else None
    for count in range(2, len(names) + 1):
        if spec is None:
            return None
        spec = PathFinder.find_spec(".".join(names[:count]), spec.submodule_search_locations)
    is_source = spec is not None and spec.origin is not None and spec.origin.endswith(".py")
    return Path(str(spec.origin)) if spec and is_source else None


def _binds(statement: ast.ImportFrom, name: str) -> bool:
    """Whether an import offers a name as it is called where it comes from."""
    return any(alias.name == name and alias.asname in (None, name) for alias in statement.names)


def _read_version(body: Iterable[ast.stmt]) -> int | None:
    for statement in body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id="version"), value=ast.Constant(value=int(version))):
                return version
            case ast.Assign(targets=[ast.Name(id="version")], value=ast.Constant(value=int(version))):
                return version
    return None


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
    found = import_name(path, key)
    if not isinstance(found, type) or found is base or base not in found.__mro__:
        raise UsageError(
            f"{key}={path}: expected a subclass of {base.__module__}.{base.__name__}, got {found!r}"
        )
    if lacking := find_lacking(found, base):
        raise UsageError(
            f"{key}={path}: the class has no {', '.join(lacking)}, which every subclass of "
            f"{base.__module__}.{base.__name__} needs; add it to the class (docs/EXTENDING.md has an example)"
        )
    return found


def find_lacking(plugin: type[Any], base: type[Any]) -> list[str]:
    """The functions and class variables that a plug-in must have and has not."""
    declared = [name for name, kind in inspect.get_annotations(base).items() if "ClassVar" in str(kind)]
    absent = [name for name in declared if not hasattr(plugin, name)]
    return absent + sorted(getattr(plugin, "__abstractmethods__", ()))


def import_name(path: str, key: str) -> Any:
    """What a module has by the last part of a dotted path."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except BenchError:
        raise
    except Exception as error:  # a module of the user's can fail in every way
        raise UsageError(f"{key}={path}: cannot be loaded ({explain_import(error)})") from error


def explain_import(error: Exception) -> str:
    """What went wrong in a module that was imported, with file and line where the message has none."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}; mend this line"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    if isinstance(error, ImportError | AttributeError | ValueError) and frame.filename in OWN_FRAMES:
        return str(error)
    return f"{frame.filename}:{frame.lineno}: {type(error).__name__}: {error}; mend this line"


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
    except PydanticUserError as error:
        raise UsageError(
            f"{key}: a field of {plugin.__module__}.{plugin.__name__} has a type that cannot be checked "
            f"({error.message.splitlines()[0]}); use plain types, as docs/EXTENDING.md does"
        ) from error
    return filled
