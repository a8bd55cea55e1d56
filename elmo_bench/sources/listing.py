"""Every corpus of a task, and the paths of its files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from elmo_bench.config import CorpusConfig, PathsConfig, TaskConfig, read_config
from elmo_bench.sources.corpora import SPLITS, find_world


def read_corpora(task: TaskConfig, source: str) -> tuple[str, dict[str, CorpusConfig]]:
    """The default corpus of a source and all of its corpora, by name."""
    entries = dict(task.sources[source])
    default = entries.pop("default")
    where = f"task.sources.{source}"
    return default, {
        name: read_config(CorpusConfig, entry, f"{where}.{name}") for name, entry in entries.items()
    }


def list_corpora(tasks: Iterable[TaskConfig], source: str) -> dict[str, tuple[str, ...]]:
    """The corpora that a source has for each task, the default first."""
    found = {}
    for task in tasks:
        if source in task.sources:
            default, corpora = read_corpora(task, source)
            found[task.name] = (default, *(name for name in corpora if name != default))
    return found


def locate(corpus: CorpusConfig, source: str, paths: PathsConfig) -> dict[str, tuple[Path, ...]]:
    """The paths of the files of every split, whether they exist or not."""
    root = {"sample": find_world(paths.cache), "open": paths.data, "paper": paths.local}.get(source, Path())
    return {split: tuple(root / name for name in _names(corpus, split)) for split in SPLITS}


def _names(corpus: CorpusConfig, split: str) -> tuple[str, ...]:
    named = getattr(corpus, split)
    return (named,) if isinstance(named, str) else tuple(named or ())
