"""What a report is made from: published records, and the tables that experiments and tasks describe."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from elmo_bench.conditions import fingerprint_of
from elmo_bench.config import FamilyConfig, PaperConfig, TableConfig, TaskConfig, read_config
from elmo_bench.records import Record
from elmo_bench.report.comparison import Referee, Run, Seeds
from elmo_bench.report.examples import Answers
from elmo_bench.report.model import Place
from elmo_bench.report.published import (
    GENERATED,
    Block,
    Published,
    Sheet,
    TaskRuns,
    code_of,
    describe_code,
    sheets_of,
)
from elmo_bench.types import UsageError

UNUSED = Sheet(GENERATED, GENERATED)  # what a fresh machine fills first
MAIN_EXPERIMENT = "table1"  # its command fills the tables of single tasks
TRAINED = "trained on this task's data"  # the mark of a gain that does not measure an encoder
ABOUT_SYSTEMS = "The supplement's comparison, with our runs in the rows of the same system. Test scores."


@dataclass(frozen=True)
class ShownTask:
    """What a report says of a task."""

    name: str
    title: str
    paper: PaperConfig = field(default_factory=PaperConfig)
    defaults: Mapping[str, str] = field(default_factory=dict)  # the usual corpus of a source
    notes: Mapping[tuple[str, str], str] = field(default_factory=dict)  # by source and corpus
    captions: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)  # by setting and its value
    as_before: Mapping[str, Any] = field(default_factory=dict)  # settings that older runs lack


@dataclass
class ReportInputs:
    """Records, descriptions and tests; it notes which runs a table shows and what a reader is warned of."""

    published: Published
    referee: Referee
    tables: Mapping[str, TableConfig]  # by experiment
    tasks: Mapping[str, ShownTask]  # those of the tables first
    families: Mapping[str, FamilyConfig] = field(default_factory=dict)  # of findings
    sizes: frozenset[str] = frozenset({"paper"})  # what size=NAME can choose
    warnings: list[str] = field(default_factory=list)
    shown: set[tuple[str, str, int]] = field(default_factory=set)  # keys of the runs that a table shows
    answers: Callable[[Run], Answers | None] = lambda run: None  # to the test set, where they are at hand
    shown_ensembles: set[str] = field(default_factory=set)  # names

    def warn(self, warning: str) -> None:
        """Keep a warning once."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    def blocks(self, tasks: Iterable[str]) -> list[Block]:
        """The blocks with runs of any of some tasks."""
        names = list(tasks)
        return [
            block
            for block in self.published.blocks()
            if any(self.published.of_task(block, task).runs for task in names)
        ]

    def sheets(self, tasks: Iterable[str]) -> list[Sheet]:
        """The sheets with runs of any of some tasks, the first encoder of every source and size first."""
        sheets = sheets_of(block for block in self.blocks(tasks) if not self.is_tuned(block))
        places = list(dict.fromkeys((sheet.source, sheet.size) for sheet in sheets))
        return sorted(
            sheets,
            key=lambda sheet: (
                places.index((sheet.source, sheet.size)),
                not self.published.is_first(sheet),
            ),
        )

    def corpora(self, sheet: Sheet, task: ShownTask) -> list[str]:
        """The corpora on which a sheet shows a task, the usual one first.

        The sheet of a source's first encoder shows a task on every corpus that has runs, and a task without
        runs on the usual corpus. That of a further encoder, such as a control, shows what it was run on.
        """
        is_first = self.published.is_first(sheet)
        found = {
            run.record.corpus
            for run in self.published.runs
            if (run.record.task, run.record.source, run.record.size) == (task.name, sheet.source, sheet.size)
            and (is_first or fingerprint_of(run.record) == sheet.fingerprint)
        }
        usual = task.defaults.get(sheet.source, "")
        if not found and is_first and usual:
            return [usual]
        return sorted(found, key=lambda corpus: (corpus != usual, corpus))

    def place(self, sheet: Sheet, task: str = "") -> Place:
        """Where a reader who filters a page looks for a table or a drawing of a sheet."""
        return Place(sheet.source, sheet.encoder, task, not self.published.is_first(sheet))

    def show(self, task: ShownTask, seeds: Seeds) -> None:
        """Note that a cell shows these runs, and warn if they are hard to reproduce."""
        runs = list(seeds.values())
        if not runs:
            return
        self.shown |= {run.key for run in runs}
        name = f"{task.name}, condition {runs[0].record.condition}"
        if len(codes := {code_of(run.record) for run in runs}) > 1:
            self.warn(f"{name}: the cell mixes runs of the {describe_code(codes)}")
        if dirty := [run.seed for run in runs if run.record.environment.get("dirty")]:
            seeds_named = ", ".join(map(str, sorted(dirty)))
            self.warn(f"{name}: from a tree with changes that no commit has (seeds {seeds_named})")

    def marks_of_encoder(self, record: Record) -> tuple[str, ...]:
        """What keeps a reader from trusting a gain of the run's encoder on its task."""
        named = (table.trained_on.get(record.encoder or "", ()) for table in self.tables.values())
        return (TRAINED,) if any(record.task in tasks for tasks in named) else ()

    def not_shown(self) -> list[Run]:
        """The runs that no table shows so far."""
        return [run for run in self.published.runs if run.key not in self.shown]

    def of_task(self, block: Block, task: ShownTask) -> TaskRuns:
        """The runs of a task in a block."""
        return self.published.of_task(block, task.name)

    def of_encoder(self, block: Block, task: ShownTask, encoder: str) -> TaskRuns:
        """The runs of a task in the block that a row shows: see RowConfig.encoder."""
        if encoder == "own":
            return self.of_task(block, task)
        return self.of_tuned(block, task) if encoder == "tuned" else self._of_names(block, task, {encoder})

    def of_tuned(self, block: Block, task: ShownTask) -> TaskRuns:
        """The runs of a task in the block whose encoder is the block's own, fine-tuned on the task's text."""
        return self._of_names(block, task, self._tuned_names(block, task.name))

    def _of_names(self, block: Block, task: ShownTask, names: Collection[str]) -> TaskRuns:
        """The runs of a task with the first other encoder that has one of these names."""
        found = [
            other for other in self.published.blocks() if other.encoder in names and is_beside(block, other)
        ]
        return TaskRuns(tuple(run for one in found[:1] for run in self.of_task(one, task).runs))

    def is_tuned(self, block: Block) -> bool:
        """Whether the encoder of a block is that of another one, fine-tuned."""
        return any(
            block.encoder in self._tuned_names(other, task)
            for other in self.published.blocks()
            for task in self.tasks
            if other.encoder and is_beside(block, other)
        )

    def _tuned_names(self, block: Block, task: str) -> set[str]:
        """What fine-tuned forms of a block's encoder are called: by default, and by their records."""
        base = block.encoder.partition(" ")[2] or block.encoder  # model A: fine-tuning calls it A
        tuned = {
            str(record.config.get("name"))
            for record in self.published.perplexities
            if (record.finetuned.encoder, record.finetuned.task, record.finetuned.corpus)
            == (base, task, block.corpus)
        }
        return {f"{base}-{task}-{block.corpus}", *tuned}


def is_beside(block: Block, other: Block) -> bool:
    """Whether two blocks differ in the encoder alone."""
    return (block.source, block.corpus, block.size) == (other.source, other.corpus, other.size)


def describe_tasks(
    registered: Mapping[str, TaskConfig], tables: Mapping[str, TableConfig], records: Sequence[Record]
) -> tuple[dict[str, ShownTask], list[str]]:
    """Every task of the tables and of the records, and what is wrong with the description in a record.

    A task that is not registered here is described by its records.
    """
    described = {name: show_task(config.model_dump(by_alias=True)) for name, config in registered.items()}
    problems = []
    for name in sorted({record.task for record in records} - described.keys()):
        values = max((record for record in records if record.task == name), key=_how_described).config
        try:
            described[name] = show_task({**values.get("task", {}), "name": name})
        except UsageError as error:
            described[name] = ShownTask(name, name)
            problems.append(f"{name}: the description in its records cannot be read: {error}")
    in_tables = [
        task for table in sorted(tables.values(), key=lambda one: one.position) for task in table.tasks
    ]
    order = [*in_tables, *sorted(described)]
    return {name: described[name] for name in dict.fromkeys(order) if name in described}, problems


def _how_described(record: Record) -> tuple[bool, int]:
    """Records with a title before those without, then the newest task version."""
    return "title" in record.config.get("task", {}), record.task_version


def show_task(values: Mapping[str, Any]) -> ShownTask:
    """What a task's configuration says of it."""
    name = str(values["name"])
    sources = values.get("sources", {})
    notes = {
        (source, corpus): str(described.get("note", ""))
        for source, own in sources.items()
        for corpus, described in own.items()
        if corpus != "default"
    }
    return ShownTask(
        name,
        str(values.get("title") or name),
        paper=read_config(PaperConfig, values.get("paper", {}), "task.paper"),
        defaults={source: str(own["default"]) for source, own in sources.items() if "default" in own},
        notes=notes,
        captions=values.get("captions", {}),
        as_before=values.get("as_before", {}),
    )


def tables_of_tasks(tasks: Iterable[ShownTask]) -> list[tuple[str, TableConfig]]:
    """The tables that compare the systems of the paper for one task alone."""
    found = []
    for task in tasks:
        if table := task.paper.table:
            changes = {
                "tasks": (task.name,),
                "all_systems": True,
                "about": table.about or ABOUT_SYSTEMS,
            }
            name = (table.paper or task.name).partition("_")[0]
            found.append((name, table.model_copy(update=changes)))
    return found
