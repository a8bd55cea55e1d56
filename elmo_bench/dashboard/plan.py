"""The panels of the dashboard, as plain values that need no account."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from elmo_bench.commands import spell_run
from elmo_bench.config import TableConfig
from elmo_bench.report.published import GENERATED
from elmo_bench.report.series import rows_of, scope

POINTS = ("input", "output")  # where ELMo enters a head
LAYERS = 3  # of a biLM: the token layer and two LSTMs


@dataclass(frozen=True)
class TaskCorpus:
    """A task with one corpus; the numbers of two places never share a panel."""

    task: str
    source: str
    corpus: str

    def name(self, *parts: str) -> str:
        """The name of a number of its runs."""
        return "/".join([scope(self.task, self.source, self.corpus), *parts])


Corpora = Mapping[str, Sequence[str]]
"""The corpora that a source has for each task, the usual one first."""


@dataclass(frozen=True)
class PanelPlan:
    """One chart: metrics averaged over the runs with the same value of one configuration key."""

    kind: Literal["bars", "lines", "points"]  # points: a summary against a value of the configuration
    title: str
    task: str
    metrics: tuple[str, ...]
    group_by: str = "method"  # a key of a run's configuration
    x: str = "epoch"  # of lines and points


@dataclass(frozen=True)
class SectionPlan:
    """Panels with a title, a description and the command that produces their runs."""

    title: str
    text: str
    command: str
    panels: tuple[PanelPlan, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of its panels, in order."""
        return tuple(dict.fromkeys(panel.task for panel in self.panels))


def plan_dashboard(tables: Mapping[str, TableConfig], source: str, corpora: Corpora) -> list[SectionPlan]:
    """A section per experiment with a table or figure, then sections without an experiment."""
    ordered = sorted(tables.items(), key=lambda item: (item[1].position, item[0]))
    usual = {task: TaskCorpus(task, source, names[0]) for task, names in corpora.items()}
    sections = [plan_section(name, table, usual, source) for name, table in ordered if table.kind in PANELS]
    scored = {task for table in tables.values() if table.kind == "scores" for task in table.tasks}
    others = [place for task, place in usual.items() if task not in scored]
    others += [TaskCorpus(task, source, name) for task, names in corpora.items() for name in names[1:]]
    further = plan_further(others, source) if others else []
    sections += [*further, plan_curves(list(usual.values()), source)]
    return [section for section in sections if section.panels]


def plan_section(name: str, table: TableConfig, usual: Mapping[str, TaskCorpus], source: str) -> SectionPlan:
    """The panels of one experiment, for its tasks; every task learns layer weights."""
    of_all = table.kind == "layer_weights" or not table.tasks
    places = [place for task, place in usual.items() if of_all or task in table.tasks]
    own = table.by_source.get(source, name)
    words = [f"+experiment={own}", *([] if source == GENERATED else [f"data={source}"]), "tracking=wandb"]
    return SectionPlan(
        table.title,
        table.about,
        spell_run(words, sweep=True),
        tuple(panel for place in places for panel in PANELS[table.kind](name, table, place)),
    )


def plan_further(places: Sequence[TaskCorpus], source: str) -> list[SectionPlan]:
    """The scores of tasks that are in no experiment, and of further corpora."""
    panels = tuple(
        PanelPlan(
            "bars", f"{place.task}, {place.corpus}: test score", place.task, (place.name("test", "score"),)
        )
        for place in places
    )
    tasks = list(dict.fromkeys(place.task for place in places))
    text = "Test scores without and with ELMo."
    return [SectionPlan("Further tasks and corpora", text, _compare(tasks, source), panels)]


def plan_curves(places: Sequence[TaskCorpus], source: str) -> SectionPlan:
    """The learning curves of every task."""
    panels = tuple(
        PanelPlan("lines", f"{place.task}, {place.corpus}: {title}", place.task, (place.name(key),))
        for place in places
        for title, key in (("dev score", "dev"), ("training loss", "loss"))
    )
    text = "Dev score and training loss after every epoch."
    return SectionPlan("Learning curves", text, _compare([place.task for place in places], source), panels)


def _compare(tasks: Sequence[str], source: str) -> str:
    words = [f"task={','.join(tasks)}", f"data={source}", "elmo=none,paper", "seed=1,2,3", "tracking=wandb"]
    return spell_run(words, sweep=True)


def _rows(name: str, table: TableConfig, place: TaskCorpus) -> Iterator[PanelPlan]:
    """A bar for every row, encoders side by side."""
    metrics = tuple(place.name(name, row) for row in rows_of(table))
    title = f"{place.task}, {place.corpus}: {table.split} score"
    yield PanelPlan("bars", title, place.task, metrics, group_by="encoder_name")


def _layers(name: str, table: TableConfig, place: TaskCorpus) -> Iterator[PanelPlan]:
    title = f"{place.task}, {place.corpus}: {table.split} score by layer"
    yield PanelPlan("bars", title, place.task, (place.name(table.split, "score"),))


def _efficiency(name: str, table: TableConfig, place: TaskCorpus) -> Iterator[PanelPlan]:
    title = f"{place.task}, {place.corpus}: {table.split} score by fraction"
    yield PanelPlan("points", title, place.task, (place.name(table.split, "score"),), x="fraction")


def _weights(name: str, table: TableConfig, place: TaskCorpus) -> Iterator[PanelPlan]:
    for point in POINTS:
        metrics = tuple(place.name("elmo", point, f"layer_{layer}") for layer in range(LAYERS))
        title = f"{place.task}, {place.corpus}: layer weights at {point}"
        yield PanelPlan("bars", title, place.task, metrics)


PANELS: dict[str, Callable[[str, TableConfig, TaskCorpus], Iterator[PanelPlan]]] = {
    # by type of table; other types show no runs
    "scores": _rows,
    "encoders": _rows,
    "layers": _layers,
    "sample_efficiency": _efficiency,
    "layer_weights": _weights,
}
