"""Figure 1: what a number of training examples is worth with and without ELMo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from elmo_bench.config import TableConfig
from elmo_bench.report.captions import caption_of, describe_sheet, facts_of, notes_of
from elmo_bench.report.cells import (
    NO_RUN,
    NOTHING,
    PASSES,
    TESTS,
    adjust_tests,
    score_cell,
    task_cell,
    text,
)
from elmo_bench.report.comparison import Run, Seeds
from elmo_bench.report.figures import build_nothing, explain_sign, sign
from elmo_bench.report.inputs import ReportInputs, ShownTask
from elmo_bench.report.model import Cell, Figure, Section, Table
from elmo_bench.report.paper import lookup
from elmo_bench.report.published import BASELINE, PAPER, Sheet, TaskRuns, Wanted
from elmo_bench.report.statistics import spread
from elmo_bench.report.svg import Chart, Line, linear_axis, log_axis
from elmo_bench.report.tables import UNTESTED, commands_for, compare_cells

FIGURE = ("figures", "figure1_sample_efficiency_dev")
COLUMNS = (
    "Task", "Training examples", "Baseline", "+ ELMo", "Gain", "95 % interval", "Paper's gain", TESTS, PASSES,
)  # fmt: skip
REACH = 0.5  # decades between a point and a point of the paper, whose points are a decade apart


@dataclass(frozen=True)
class Point:
    """The runs on one part of the training set."""

    examples: int
    share: float  # of the training set
    limit: int | None  # of the examples, which goes below the share
    before: Seeds
    after: Seeds

    @property
    def runs(self) -> list[Run]:
        """The runs of both sides."""
        return [*self.before.values(), *self.after.values()]

    @property
    def is_complete(self) -> bool:
        """Whether both sides have runs."""
        return bool(self.before and self.after)


@dataclass(frozen=True)
class TaskPoints:
    """The points of one task on one corpus."""

    task: ShownTask
    corpus: str
    points: list[Point]

    def made(self, least: int) -> list[Point]:
        """The points that have enough training examples."""
        return [point for point in self.points if point.examples >= least]


@dataclass(frozen=True)
class PaperPoint:
    """A gain that the paper's figure prints, and the number of examples it is of."""

    examples: int
    percent: str
    entry: Mapping[str, Any]
    is_counted: bool  # the size of the paper's training set is known, and not from memory

    @property
    def cell(self) -> Cell:
        """The gain, and the number of examples it is of."""
        value, verified = self.entry["value"], self.entry["verified"]
        about = "" if self.is_counted else "about "
        lines = (f"{value:+.1f}", f"at {about}{self.examples:,}", *(() if verified else ("unverified",)))
        return Cell(lines, "paper" if verified else "unverified", value)


def sample_efficiency(name: str, table: TableConfig, inputs: ReportInputs) -> Section:
    """Dev scores by number of training examples, and when ELMo passes the baseline's best."""
    tables, figures = [], []
    for sheet in inputs.sheets(inputs.tasks):
        parts = [
            TaskPoints(task, corpus, find_points(inputs.of_task(sheet.on(corpus), task)))
            for task in inputs.tasks.values()
            for corpus in inputs.corpora(sheet, task)
        ]
        is_first = inputs.published.is_first(sheet)
        parts = [part for part in parts if _is_shown(part, table, is_first)]
        if parts:
            tables.append(_table(name, table, sheet, parts, inputs))
        for part in parts:
            made = part.made(table.least)
            if sum(point.is_complete for point in made) > 1:
                figures.append(_figure(name, table, sheet, part, inputs))
    empty = (build_nothing(name, table.title),)
    return Section(name, table.title, table.about, tuple(tables) or empty, tuple(figures))


def _is_shown(part: TaskPoints, table: TableConfig, is_first: bool) -> bool:
    """Whether there is more than a run on the whole training set, which is in the table of its experiment.

    The first encoder of a source has every task of the table, for the commands that fill it.
    """
    if is_first:
        return len(part.points) > 1 or bool(part.points and part.task.name in table.tasks)
    return sum(bool(point.after) for point in part.points) > 1


def find_points(runs: TaskRuns) -> list[Point]:
    """One point for each part of the training set, the smallest first."""
    points = []
    for share, limit in runs.shares():
        before, after = (
            runs.find(Wanted(one.elmo, fraction=share, limit=limit)) for one in (BASELINE, PAPER)
        )
        if any_run := next(iter([*before.values(), *after.values()]), None):
            points.append(Point(any_run.record.examples["train"], share, limit, before, after))
    return sorted(points, key=lambda point: (point.examples, point.share))


def _table(
    name: str, table: TableConfig, sheet: Sheet, parts: Sequence[TaskPoints], inputs: ReportInputs
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    missing: list[tuple[ShownTask, str]] = []
    corpora = {part.corpus for part in parts}
    notes = notes_of(sheet.source, sheet.size)
    for part in parts:
        made = part.made(table.least)
        if few := [f"{point.examples:,}" for point in part.points if point not in made]:
            notes.append(
                f"{part.task.title}: runs on fewer than {table.least} training examples are no points here "
                f"({', '.join(few)})."
            )
        heading = task_cell(part.task, part.corpus if len(corpora) > 1 else "")
        rows += [(heading, *row) for row in _rows(part.task, made, inputs)]
        runs = (run for point in made for run in point.runs)
        notes += facts_of(part.task, sheet.on(part.corpus), runs)
        is_filled = len(made) > 1 and all(point.is_complete for point in made)
        if part.task.name in table.tasks and not is_filled:
            missing.append((part.task, part.corpus))
    shown = {part.task.name for part in parts}
    without = [inputs.tasks[task] for task in table.tasks if task in inputs.tasks and task not in shown]
    missing += [(task, task.defaults.get(sheet.source, "")) for task in without]
    described = describe_sheet(sheet, corpora)
    return Table(
        name,
        described,
        caption_of(table.title, table.split, described),
        COLUMNS,
        adjust_tests(COLUMNS, rows),
        tuple(notes),
        tuple(commands_for(table.by_source.get(sheet.source, name), missing, sheet, inputs.sizes)),
        inputs.place(sheet),
    )


def _rows(task: ShownTask, points: Sequence[Point], inputs: ReportInputs) -> Iterator[tuple[Cell, ...]]:
    """Our points with those of the paper that are near; the others of the paper have rows of their own."""
    printed = paper_points(task)
    beside = pair_by_size([point.examples for point in points], [one.examples for one in printed])
    placed = {ours: printed[theirs].cell for theirs, ours in beside.items()}
    rows = [
        (point.examples, _row(task, point, placed.get(number, NOTHING), inputs))
        for number, point in enumerate(points)
    ]
    for number, one in enumerate(printed):
        if number not in beside:
            label = text(f"{one.examples:,}", f"{one.percent} % of the paper's")
            gain, interval, tests, speed = UNTESTED
            scores = (NOTHING, NOTHING)
            rows.append((one.examples, (label, *scores, gain, interval, one.cell, tests, speed)))
    yield from (row for _, row in sorted(rows, key=lambda row: row[0]))


def paper_points(task: ShownTask) -> list[PaperPoint]:
    """The points of the paper's figure for a task, if it has the task."""
    name = task.paper.name
    gains = lookup(*FIGURE, "gain_labels_elmo_minus_baseline").get(name, {})
    whole = lookup(*FIGURE, "train_examples").get(name)
    if not whole:
        return []
    return [
        PaperPoint(round(whole["value"] * float(percent) / 100), percent, entry, whole["verified"])
        for percent, entry in gains.items()
    ]


def pair_by_size(ours: Sequence[int], theirs: Sequence[int]) -> dict[int, int]:
    """The place of our size nearest to each of theirs, at most one each and only within reach."""
    distances = sorted(
        (abs(log10(own / other)), place, number)
        for number, other in enumerate(theirs)
        for place, own in enumerate(ours)
    )
    pairs: dict[int, int] = {}
    for distance, place, number in distances:
        if distance <= REACH and number not in pairs and place not in pairs.values():
            pairs[number] = place
    return pairs


def _row(task: ShownTask, point: Point, theirs: Cell, inputs: ReportInputs) -> tuple[Cell, ...]:
    for seeds in (point.before, point.after):
        inputs.show(task, seeds)
    limit = f", at most {point.limit:,}" if point.limit else ""
    size = text(f"{point.examples:,}", f"{100 * point.share:g} %{limit}")
    scores = [
        score_cell(list(seeds.values()), "dev") if seeds else NO_RUN for seeds in (point.before, point.after)
    ]
    metric = point.runs[0].record.metric
    gain, interval, tests, speed = compare_cells(inputs, point.before, point.after, "dev", metric)
    return (size, *scores, gain, interval, theirs, tests, speed)


def _figure(name: str, table: TableConfig, sheet: Sheet, part: TaskPoints, inputs: ReportInputs) -> Figure:
    points, task = part.made(table.least), part.task
    sizes = [float(point.examples) for point in points]
    sides = {
        "without ELMo": [point.before for point in points],
        "with ELMo": [point.after for point in points],
    }
    lines = [_line(label, colour, sizes, side) for colour, (label, side) in enumerate(sides.items(), start=1)]
    up = linear_axis(f"dev {points[0].runs[0].record.metric}", [y for line in lines for _, y in line.points])
    drawing = Chart(
        f"Sample efficiency of {task.title}", tuple(lines), log_axis("training examples", sizes), up
    )
    facts = facts_of(task, sheet.on(part.corpus), (run for point in points for run in point.runs))
    caption = caption_of(f"{table.title}: {task.title}", "dev", describe_sheet(sheet, [part.corpus]))
    return Figure(
        name, explain_sign(caption, drawing), drawing, tuple(facts), inputs.place(sheet, task.title)
    )


def _line(label: str, colour: int, sizes: Sequence[float], side: Sequence[Seeds]) -> Line:
    """The means of one side by number of examples, where it has runs."""
    found = {
        size: spread([run.record.scores["dev"][run.record.metric] for run in seeds.values()])
        for size, seeds in zip(sizes, side, strict=True)
        if seeds
    }
    return Line(
        sign(label, [run for seeds in side for run in seeds.values()]),
        tuple((size, one.mean) for size, one in found.items()),
        colour,
        deviations=tuple(one.deviation for one in found.values()),
    )
