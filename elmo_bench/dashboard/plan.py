"""The panels of the dashboard, as plain values that need no account."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from elmo_bench.commands import spell_run
from elmo_bench.config import TableConfig
from elmo_bench.report.published import GENERATED

POINTS = ("input", "output")  # where ELMo enters a head
LAYERS = 3  # of a biLM: the token layer and two LSTMs


@dataclass(frozen=True)
class PanelPlan:
    """One chart: metrics averaged over the runs with the same value of one configuration key."""

    kind: Literal["bars", "lines", "points"]  # points: a summary against a value of the configuration
    title: str
    metrics: tuple[str, ...]
    group_by: str = "method"  # a key of a run's configuration
    x: str = "epoch"  # of lines and points


@dataclass(frozen=True)
class SectionPlan:
    """Panels with a title, a description and the command that produces their runs."""

    title: str
    text: str
    command: str
    tasks: tuple[str, ...]
    panels: tuple[PanelPlan, ...]


def plan_dashboard(tables: Mapping[str, TableConfig], tasks: Sequence[str]) -> list[SectionPlan]:
    """A section per experiment with a table or figure, then sections without an experiment."""
    ordered = sorted(tables.items(), key=lambda item: (item[1].position, item[0]))
    sections = [plan_section(name, table, tasks) for name, table in ordered if table.kind in PANELS]
    scored = {task for table in tables.values() if table.kind == "scores" for task in table.tasks}
    return [*sections, *plan_further([task for task in tasks if task not in scored]), plan_curves(tasks)]


def plan_section(name: str, table: TableConfig, tasks: Sequence[str]) -> SectionPlan:
    """The panels of one experiment, for its tasks; every task learns layer weights."""
    of_all = table.kind == "layer_weights" or not table.tasks
    return SectionPlan(
        table.title,
        table.about,
        spell_run([f"+experiment={table.by_source.get(GENERATED, name)}", "tracking=wandb"], sweep=True),
        tuple(tasks if of_all else table.tasks),
        tuple(PANELS[table.kind](table)),
    )


def plan_further(tasks: Sequence[str]) -> Iterator[SectionPlan]:
    """The scores of tasks that are in no experiment."""
    if tasks:
        panel = PanelPlan("bars", "test score", ("test/score",))
        text = "Test scores without and with ELMo."
        yield SectionPlan("Further tasks", text, _compare(tasks), tuple(tasks), (panel,))


def plan_curves(tasks: Sequence[str]) -> SectionPlan:
    """The learning curves of every task."""
    panels = (PanelPlan("lines", "dev score", ("dev",)), PanelPlan("lines", "training loss", ("loss",)))
    text = "Dev score and training loss after every epoch."
    return SectionPlan("Learning curves", text, _compare(tasks), tuple(tasks), panels)


def _compare(tasks: Sequence[str]) -> str:
    words = [f"task={','.join(tasks)}", "elmo=none,paper", "seed=1,2,3", "tracking=wandb"]
    return spell_run(words, sweep=True)


def _scores(table: TableConfig) -> Iterator[PanelPlan]:
    yield PanelPlan("bars", f"{table.split} score", (f"{table.split}/score",))


def _efficiency(table: TableConfig) -> Iterator[PanelPlan]:
    yield PanelPlan("points", f"{table.split} score by fraction", (f"{table.split}/score",), x="fraction")


def _weights(table: TableConfig) -> Iterator[PanelPlan]:
    for point in POINTS:
        metrics = tuple(f"elmo/{point}/layer_{layer}" for layer in range(LAYERS))
        yield PanelPlan("bars", f"layer weights at {point}", metrics)


PANELS: dict[
    str, Callable[[TableConfig], Iterator[PanelPlan]]
] = {  # by type of table; other types show no runs
    "scores": _scores,
    "sample_efficiency": _efficiency,
    "layer_weights": _weights,
}
