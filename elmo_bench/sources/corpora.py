"""The corpus that a run reads, and the paths of its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.config import (
    CorpusConfig,
    DataConfig,
    HubConfig,
    PathsConfig,
    TaskConfig,
    nearest,
    read_config,
)
from elmo_bench.files import make_once
from elmo_bench.hashing import hash_files
from elmo_bench.sources import hub
from elmo_bench.types import DataMissingError, Log, SplitFiles, UsageError

SPLITS = ("train", "dev", "test")
OWN_FILES = "data"  # the key of data=files: each split has its own
SET_BY = {"paths.data": "; ELMO_BENCH_DATA=DIR sets it"}  # in the environment


@dataclass(frozen=True)
class Corpus:
    """The files of one corpus, split by split."""

    source: str
    name: str
    config: CorpusConfig
    files: dict[str, SplitFiles]
    cache: Path  # paths.cache, where examples are kept once they are read

    def fingerprints(self) -> dict[str, str]:
        """sha256 of every split's contents, independent of the paths."""
        return {split: hash_files(files.paths) for split, files in self.files.items()}


def prepare(
    task: TaskConfig, data: DataConfig, paths: PathsConfig, log: Log, splits: Sequence[str] = SPLITS
) -> Corpus:
    """Make sure that the files of a task's corpus exist, and return their paths."""
    name, corpus = choose_corpus(task, data)
    if data.repository and not corpus.hub:
        raise UsageError(f"data.repository: {name} ({data.source}) is not read from the Hub; leave it out")
    if data.source == "sample":
        root, key = generate_world(paths.cache, log), "paths.cache"
    elif data.source == "files":
        root, key = Path(), "data"
    elif data.source == "open":
        root, key = paths.data, "paths.data"
    elif corpus.hub and (data.repository or not _is_in_place(corpus, paths.local)):
        names = {split: file for split, file in _single_files(corpus).items() if split in splits}
        root, key = _fetch(name, corpus.hub, names, corpus.get, data.repository, paths, log), "paths.cache"
    else:
        root, key = paths.local, "paths.local"
    files = {split: _find_split(split, corpus, root, key) for split in splits}
    return Corpus(data.source, name, corpus, files, paths.cache)


def choose_corpus(task: TaskConfig, data: DataConfig) -> tuple[str, CorpusConfig]:
    """The corpus that data.corpus names, or the task's default for this source."""
    if data.source not in task.sources:
        raise UsageError(
            f"data={data.source}: task {task.name} has no such source ({', '.join(task.sources)})"
        )
    entries = dict(task.sources[data.source])
    default = entries.pop("default")
    name = data.corpus or default
    if name not in entries:
        hint = nearest(name, entries)
        raise UsageError(
            f"data.corpus={name}: task {task.name} has no such corpus in data={data.source}{hint} "
            f"(there are: {', '.join(entries)})"
        )
    where = f"task.sources.{data.source}.{name}"
    corpus = read_config(CorpusConfig, entries[name], where)
    if data.source == "files":
        own = {"train": data.train, "dev": data.dev, "test": data.test}
        corpus = corpus.model_copy(update={**own, "format": data.format or corpus.format})
    return name, corpus


def find_world(cache: Path) -> Path:
    """Where the generated world lies or will lie: each version of its generator has a directory."""
    from elmo_bench.world import WORLD_VERSION

    return cache / "world" / f"v{WORLD_VERSION}"


def generate_world(cache: Path, log: Log) -> Path:
    """The generated world, written once."""
    from elmo_bench.world import write_world

    def write(partial: Path) -> None:
        log("writing the generated world")
        write_world(partial)

    return make_once(find_world(cache), write, log)


def _is_in_place(corpus: CorpusConfig, root: Path) -> bool:
    """Whether the user has provided at least some files of the corpus."""
    return any((root / name).exists() for name in _single_files(corpus).values())


def _fetch(
    name: str,
    wanted: HubConfig,
    names: dict[str, str],
    get: str,
    repository: str | None,
    paths: PathsConfig,
    log: Log,
) -> Path:
    """Some splits of the corpus from the Hub, laid out as they would be under paths.local."""
    if repository:
        wanted = wanted.model_copy(update={"repository": repository})
    return hub.fetch(wanted, names, paths.cache / "hub" / name, get, log)


def _single_files(corpus: CorpusConfig) -> dict[str, str]:
    """The one file of every split, as a corpus of the Hub has it."""
    named = {split: getattr(corpus, split) for split in SPLITS}
    return {split: name for split, name in named.items() if isinstance(name, str)}


def _find_split(split: str, corpus: CorpusConfig, root: Path, key: str) -> SplitFiles:
    named = getattr(corpus, split)
    if named is None:
        raise UsageError(f"data.{split}: the corpus names no file for this split")
    paths = tuple(root / name for name in ([named] if isinstance(named, str) else named))
    for path in paths:
        if not path.is_file():
            found = "expected a file, got a directory" if path.is_dir() else "no such file"
            if key == OWN_FILES:
                where = "" if path.is_absolute() else f", looked for in {Path.cwd()}"
                raise DataMissingError(
                    f"{path}: {found} (data.{split}{where}); give data.{split}=FILE, or type a command "
                    "about a finished run where that was made"
                )
            how = corpus.get or f"put the file there or set {key} to another directory"
            where = f"the {split} split; {key} is {root}{SET_BY.get(key, '')}"
            raise DataMissingError(f"{path}: {found} ({where}). To get it: {how}")
    return SplitFiles(split, corpus.format, paths, corpus.options)
