"""The available tasks, corpora, encoders, experiments and findings, as configuration files.

`elmo_bench/directories.py` lists the directories that hold them.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from yaml import MarkedYAMLError, YAMLError

from elmo_bench.config import FamilyConfig, TableConfig, TaskConfig, nearest, read_config
from elmo_bench.directories import CONF, directories
from elmo_bench.types import UsageError

GLOBAL = re.compile(r"#\s*@package\s+_global_\s*$")  # how the file of an experiment begins


def list_choices(group: str) -> dict[str, Path]:
    """The files of a group by name; a name that occurs in two directories is refused."""
    choices: dict[str, Path] = {}
    for directory in directories():
        for path in sorted((directory / group).glob("*.yaml")):
            if path.stem in choices:
                raise UsageError(f"{path}: {choices[path.stem]} has this name already; choose another one")
            choices[path.stem] = path
    return choices


def check_names() -> None:
    """Refuse files that another file with the same name would hide, in any group."""
    for group in sorted(path.name for path in CONF.iterdir() if path.is_dir()):
        list_choices(group)


def list_plugins(group: str) -> dict[str, str]:
    """The dotted path of the class that each file of a group names."""
    named = {name: _read_plugin(path, path.stat().st_mtime_ns) for name, path in list_choices(group).items()}
    return {name: plugin for name, plugin in named.items() if plugin is not None}


@cache
def _read_plugin(path: Path, _changed: int) -> str | None:
    plugin = _read_file(path, resolve=False).get("plugin")
    return None if plugin is None else str(plugin)


def list_tasks() -> list[str]:
    """The name of every task."""
    return sorted(list_choices("task"))


def read_task(name: str) -> TaskConfig:
    """A task as in its file, with all of its corpora, before a size changes its settings."""
    choices = list_choices("task")
    if name not in choices:
        raise UsageError(
            f"there is no task {name!r}{nearest(name, choices)} (there are: {', '.join(sorted(choices))})"
        )
    return read_config(TaskConfig, add_corpora(_read_file(choices[name])), "task")


def add_corpora(task: dict[str, Any]) -> dict[str, Any]:
    """A task's values with the corpora that files `corpus/<task>/<name>.yaml` add to it."""
    where = f"task {task.get('name')}: sources"
    given = require_group(task.get("sources", {}), where)
    sources = {source: dict(require_group(given[source], f"{where}.{source}")) for source in given}
    for name, path in list_choices(f"corpus/{task.get('name')}").items():
        corpus = _read_file(path)
        source = str(corpus.pop("source", "open"))
        corpora = sources.setdefault(source, {"default": name})
        if name in corpora:
            raise UsageError(f"{path}: task {task['name']} has a corpus {name} in data={source} already")
        corpora[name] = corpus
    return {**task, "sources": sources}


def list_documented() -> list[str]:
    """The corpora whose files say where documents begin, as TASK/CORPUS."""
    return [
        f"{name}/{corpus}"
        for name in list_tasks()
        for corpora in read_task(name).sources.values()
        for corpus, values in corpora.items()
        if corpus != "default" and values.get("documents")
    ]


def list_tables() -> dict[str, TableConfig]:
    """The tables of the experiments, by name; an experiment without a table is left out."""
    tables = {name: _read_table(path) for name, path in list_choices("experiment").items()}
    return {name: table for name, table in tables.items() if table}


def check_experiment(name: str) -> None:
    """Refuse a file that is no experiment, or whose table the report could not make of the finished runs."""
    path = list_choices("experiment").get(name)
    if path is None:
        return
    values = _read_file(path, resolve=False)
    comments = takewhile(lambda line: not line.strip() or line.startswith("#"), read_text(path).splitlines())
    if not any(GLOBAL.match(line) for line in comments):
        raise UsageError(
            f"{path}:1: expected the line '# @package _global_', without which nothing below it is heeded"
        )
    if not values.keys() & {"hydra", "defaults"}:
        raise UsageError(f"{path}: expected hydra.sweeper.params, the values to try; got none")
    _read_table(path)


def _read_table(path: Path) -> TableConfig | None:
    """The table of the experiment in a file, if it has one."""
    where = f"{path}: hydra"
    hydra = require_group(_read_file(path, resolve=False).get("hydra", {}), where)
    sweeper = require_group(hydra.get("sweeper", {}), f"{where}.sweeper")
    if not sweeper.get("table"):
        return None
    table = require_group(sweeper["table"], f"{where}.sweeper.table")
    params = require_group(sweeper.get("params", {}), f"{where}.sweeper.params")
    tasks = [task for task in str(params.get("task", "")).split(",") if task]
    values = {"tasks": tasks, "least": params.get("data.least", 1), **table}
    return read_config(TableConfig, values, f"{where}.sweeper.table")


def list_findings() -> dict[str, FamilyConfig]:
    """The families of findings by the name of their file, in the order of a report."""
    families = {
        name: read_config(FamilyConfig, _read_file(path), str(path))
        for name, path in list_choices("findings").items()
    }
    return dict(sorted(families.items(), key=lambda item: (item[1].position, item[0])))


def require_group(values: Any, where: str) -> dict[str, Any]:
    """A group of keys in a configuration file; `where` names the group."""
    if not isinstance(values, dict):
        raise UsageError(f"{where}: expected keys and values, got {values!r}")
    return values


def explain_yaml(error: MarkedYAMLError) -> str:
    """Where a configuration file is no YAML, and why."""
    mark = error.problem_mark
    where = f"{mark.name}:{mark.line + 1}" if mark else "a configuration file"
    hint = "; indent with blanks, not with a tab" if "\\t" in str(error.problem) else ""
    return f"{where}: expected YAML, got something else ({error.problem}){hint}"


def read_text(path: Path) -> str:
    """The text of a configuration file, which is UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        wrong = error.object[error.start]
        raise UsageError(
            f"{path}:{line}: expected UTF-8, got the byte {wrong:#04x}; convert the file"
        ) from None


def check_encoding() -> None:
    """Refuse files that are no UTF-8: Hydra's own error names none."""
    for directory in directories():
        for path in sorted(directory.glob("*/*.yaml")):
            read_text(path)


def _read_file(path: Path, resolve: bool = True) -> dict[str, Any]:
    try:
        values = OmegaConf.to_container(OmegaConf.load(path), resolve=resolve)
    except MarkedYAMLError as error:
        raise UsageError(explain_yaml(error)) from None
    except UnicodeDecodeError:
        read_text(path)  # names the line
        raise
    except (OSError, ValueError, YAMLError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from None
    if not isinstance(values, dict):
        raise UsageError(f"{path}: expected keys and values, got {type(values).__name__}")
    return {str(key): value for key, value in values.items()}
