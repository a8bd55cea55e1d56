"""`python -m elmo_bench tasks`: list the tasks, their corpora, and which of them are available."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from textwrap import fill

from elmo_bench.cli.overrides import DIRECTORIES, read_paths, take_overrides
from elmo_bench.config import HubConfig, PathsConfig, TaskConfig

HELP = """list the tasks with their sources and corpora: are the data available, which licence, how to get it

A corpus marked * is what data=SOURCE means by itself. `generated`: this project writes it when first used;
`hub`: it is downloaded when first used."""
EXAMPLE = (
    "python -m elmo_bench tasks\n"
    "  python -m elmo_bench tasks ner --json\n"
    "  python -m elmo_bench tasks paths.data=/corpora"
)
OWN = "files"  # the source without a directory of its own


@dataclass(frozen=True)
class CorpusStatus:
    """One corpus of one source, as this machine has it."""

    source: str
    corpus: str
    default: bool
    format: str
    state: dict[str, str]  # by split: here, generated, hub, missing or own
    files: dict[str, list[str]]  # by split
    hub: str | None  # the origin if the user has not provided files
    licence: str
    get: str
    note: str

    @property
    def is_missing(self) -> bool:
        """Whether the user has to provide a split."""
        return "missing" in self.state.values()


def configure(parser: argparse.ArgumentParser) -> None:
    """The tasks to list, the paths, and the output format."""
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="tasks to list (default: all)")
    take_overrides(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace) -> None:
    """Print every task with its corpora."""
    from elmo_bench.catalog import list_tasks, read_task

    paths = read_paths(arguments)
    chosen = [read_task(name) for name in arguments.tasks or list_tasks()]
    listing = {task.name: (task, list(find_corpora(task, paths))) for task in chosen}
    if arguments.json:
        print(json.dumps({name: as_plain(*entry) for name, entry in listing.items()}, indent=1))
    else:
        missing = {
            corpus.source for _, corpora in listing.values() for corpus in corpora if corpus.is_missing
        }
        parts = [describe(*entry) for entry in listing.values()]
        print("\n\n".join([*parts, *describe_directories(missing, paths)]))


def find_corpora(task: TaskConfig, paths: PathsConfig) -> Iterator[CorpusStatus]:
    """Every corpus of every source with the state of its splits."""
    from elmo_bench.sources import locate, read_corpora

    for source in task.sources:
        default, corpora = read_corpora(task, source)
        for name, corpus in corpora.items():
            files_of = locate(corpus, source, paths)
            # As in a run: if the user has provided some of the files, the Hub is not used.
            is_begun = any(file.exists() for files in files_of.values() for file in files)
            elsewhere = "hub" if corpus.hub and not is_begun else "missing"
            absent = {"sample": "generated", OWN: "own"}.get(source, elsewhere)
            state = {
                split: "here" if files and all(file.is_file() for file in files) else absent
                for split, files in files_of.items()
            }
            yield CorpusStatus(
                source,
                name,
                default=name == default,
                format=corpus.format,
                state=state,
                files={split: [str(file) for file in files] for split, files in files_of.items()},
                hub=describe_hub(corpus.hub) if corpus.hub else None,
                licence=corpus.licence,
                get=corpus.get,
                note=corpus.note,
            )


def describe_hub(hub: HubConfig) -> str:
    """A repository and its revision, in readable form."""
    return f"{hub.repository} at {hub.revision[:12]}"


def as_plain(task: TaskConfig, corpora: list[CorpusStatus]) -> Mapping[str, object]:
    """A task with its corpora, for JSON."""
    return {
        "title": task.title,
        "plugin": task.plugin,
        "corpora": [asdict(corpus) for corpus in corpora],
    }


def describe(task: TaskConfig, corpora: list[CorpusStatus]) -> str:
    """One task as text: a line per corpus, and below it how to get what is missing."""
    lines = [f"{task.name}  {task.title}  ({task.plugin})"]
    width = max(len(corpus.corpus) for corpus in corpora) + 1
    formats = max(len(corpus.format) for corpus in corpora)
    for corpus in corpora:
        name = corpus.corpus + "*" * corpus.default
        about = ", ".join(filter(None, [corpus.licence, corpus.note]))
        what = f"{corpus.format:{formats}}  {in_words(corpus.state):9}  {about}"
        lines.append(f"  data={corpus.source:6}  {name:{width}}  {what}".rstrip())
        if corpus.is_missing:
            lines.append(f"        expected: {', '.join(corpus.files['train'])} and so on")
        elif "hub" in corpus.state.values():
            lines.append(f"        when first used: {corpus.hub} from the Hugging Face Hub (extra hub)")
            lines.append(f"        instead of it: {', '.join(corpus.files['train'])} and so on")
        if corpus.get and {"missing", "hub"} & set(corpus.state.values()):
            lines.append(fill(f"        to get it: {corpus.get}", 100, subsequent_indent=" " * 10))
    return "\n".join(lines)


def describe_directories(sources: Collection[str], paths: PathsConfig) -> list[str]:
    """The directories where corpora are expected, and how to change them."""
    lines = [
        f"data={source}: expected below {getattr(paths, name).resolve()}; {setting} names another directory"
        for source, (name, setting) in DIRECTORIES.items()
        if source in sources
    ]
    return ["\n".join(lines)] if lines else []


def in_words(state: Mapping[str, str]) -> str:
    """The state of the splits; one word if all have the same state."""
    if set(state.values()) == {"own"}:
        return "yours"
    if len(set(state.values())) == 1:
        return next(iter(state.values()))
    return ", ".join(f"{split} {what}" for split, what in state.items())
