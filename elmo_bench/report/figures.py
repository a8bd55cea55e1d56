"""The paper's figures from the records: learning curves and layer weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from elmo_bench.commands import spell_run
from elmo_bench.config import TableConfig
from elmo_bench.report.captions import caption_of, describe_sheet, facts_of, notes_of
from elmo_bench.report.cells import (
    NO_RUN,
    measured_cell,
    spell_spread,
    task_cell,
    text,
)
from elmo_bench.report.comparison import Run, Seeds
from elmo_bench.report.convergence import MARK, SIGN, met_cap
from elmo_bench.report.inputs import UNUSED, ReportInputs, ShownTask
from elmo_bench.report.model import Figure, Place, Section, Table
from elmo_bench.report.published import BASELINE, PAPER, Sheet
from elmo_bench.report.statistics import spread
from elmo_bench.report.svg import Chart, HeatMap, Line, linear_axis

CURVES = "Learning curves"
EXPLANATION = f"{MARK}: a run met its cap on epochs"
LOWEST = ("token layer", "LSTM 1", "LSTM 2")  # the names of a biLM's layers, from below
OURS = "elmo_bench."  # begins the dotted path of our encoders, which are biLMs or have one layer


@dataclass(frozen=True)
class Learnt:
    """The runs of one task and corpus that have learnt layer weights."""

    task: ShownTask
    corpus: str
    runs: list[Run]


def learning_curves(inputs: ReportInputs) -> Section:
    """Dev score by epoch with and without ELMo, task by task."""
    figures = []
    for sheet in inputs.sheets(inputs.tasks):
        for task in inputs.tasks.values():
            for corpus in inputs.corpora(sheet, task):
                runs = inputs.of_task(sheet.on(corpus), task)
                groups = {"without ELMo": runs.find(BASELINE), "with ELMo": runs.find(PAPER)}
                if any(len(run.record.curve) > 1 for seeds in groups.values() for run in seeds.values()):
                    figures.append(_learning_curve(task, sheet, corpus, groups, inputs))
    about = (
        "Dev score after every epoch: the thick line is the mean over the seeds that were still "
        "training, the thin ones are single seeds. The paper prints no such figure, but claims from its "
        "curves (Figure 1's section)."
    )
    return Section("curves", CURVES, about, figures=tuple(figures), is_apart=True)


def _learning_curve(
    task: ShownTask, sheet: Sheet, corpus: str, groups: dict[str, Seeds], inputs: ReportInputs
) -> Figure:
    lines = []
    for colour, (label, seeds) in enumerate(groups.items(), start=1):
        label = sign(label, seeds.values())
        curves = [[(row["epoch"], row["dev"]) for row in run.record.curve] for run in seeds.values()]
        lines += [Line(label, tuple(curve), colour, faint=True) for curve in curves if len(curves) > 1]
        by_epoch: dict[float, list[float]] = {}
        for epoch, dev in (point for curve in curves for point in curve):
            by_epoch.setdefault(epoch, []).append(dev)
        averaged = tuple((epoch, mean(values)) for epoch, values in sorted(by_epoch.items()))
        if averaged:
            lines.append(Line(label, averaged, colour))
    points = [point for line in lines for point in line.points]
    metric = next(run.record.metric for seeds in groups.values() for run in seeds.values())
    across = linear_axis("epoch", [0, *(x for x, _ in points)])
    ends = max(x for x, _ in points)
    across = replace(across, high=max(ends, 1), ticks=tuple(tick for tick in across.ticks if tick <= ends))
    up = linear_axis(f"dev {metric}", [y for _, y in points])
    drawing = Chart(f"Learning curves of {task.title}", tuple(lines), across, up)
    facts = facts_of(task, sheet.on(corpus), (run for seeds in groups.values() for run in seeds.values()))
    caption = caption_of(f"{CURVES}: {task.title}", "dev", describe_sheet(sheet, [corpus]))
    return Figure(
        "curves", explain_sign(caption, drawing), drawing, tuple(facts), inputs.place(sheet, task.title)
    )


def sign(label: str, runs: Iterable[Run]) -> str:
    """A label of a figure, with a sign if any of its runs met its cap."""
    return f"{label} {SIGN}" if any(met_cap(run.record) for run in runs) else label


def explain_sign(caption: str, drawing: Chart | HeatMap) -> str:
    """The caption of a drawing, which explains the sign if the drawing has it."""
    return f"{caption} · {SIGN} {EXPLANATION}" if SIGN in drawing.svg else caption


def layer_weights(name: str, table: TableConfig, inputs: ReportInputs) -> Section:
    """The softmax-normalised weights s at the input and at the output (Figure 2)."""
    figures = []
    tables = []
    for sheet in inputs.sheets(inputs.tasks):
        for where in ("input", "output"):
            if learnt := list(_find_learnt(sheet, where, inputs)):
                title = f"{table.title} at the {where}"
                caption = caption_of(title, "training", describe_sheet(sheet, _corpora_of(learnt)))
                place = inputs.place(sheet)
                notes = [
                    note for one in learnt for note in facts_of(one.task, sheet.on(one.corpus), one.runs)
                ]
                figures.append(_weight_map(name, caption, where, learnt, place))
                tables.append(_weight_table(name, caption, where, sheet, learnt, notes, place))
    empty = (build_nothing(name, table.title),)
    return Section(name, table.title, table.about, tuple(tables) or empty, tuple(figures))


def _find_learnt(sheet: Sheet, where: str, inputs: ReportInputs) -> Iterator[Learnt]:
    """The runs of every task and corpus that have learnt weights at a place."""
    for task in inputs.tasks.values():
        for corpus in inputs.corpora(sheet, task):
            seeds = inputs.of_task(sheet.on(corpus), task).find(PAPER)
            if runs := [run for run in seeds.values() if run.record.layer_weights(where)]:
                yield Learnt(task, corpus, runs)


def _corpora_of(learnt: Iterable[Learnt]) -> set[str]:
    return {one.corpus for one in learnt}


def name_layers(learnt: Sequence[Learnt], where: str) -> list[str]:
    """From below; the layers of an encoder that is no biLM, or of another depth, have numbers."""
    run = learnt[0].runs[0]
    layers = list(run.record.layer_weights(where))
    plugin = run.record.config.get("encoder", {}).get("plugin", OURS)  # older records have ours
    is_bilm = plugin.startswith(OURS) and layers == list(range(len(LOWEST)))
    return list(LOWEST) if is_bilm else [f"layer {number}" for number in layers]


def _weight_map(name: str, caption: str, where: str, learnt: Sequence[Learnt], place: Place) -> Figure:
    headings = [sign(one.task.title, one.runs) for one in learnt]
    columns = [[mean(column) for column in _by_layer(one.runs, where)] for one in learnt]
    names = name_layers(learnt, where)
    values = [[column[layer] for column in columns] for layer in range(len(names))]
    rows = tuple(map(tuple, values[::-1]))
    drawing = HeatMap(f"Layer weights at the {where}", tuple(headings), tuple(names[::-1]), rows)
    return Figure(name, explain_sign(caption, drawing), drawing, place=place)


def _by_layer(runs: Sequence[Run], where: str) -> list[tuple[float, ...]]:
    """The weights of every layer over the runs."""
    return list(zip(*(run.record.layer_weights(where).values() for run in runs), strict=True))


def _weight_table(
    name: str,
    caption: str,
    where: str,
    sheet: Sheet,
    learnt: Sequence[Learnt],
    notes: Iterable[str],
    place: Place,
) -> Table:
    rows = []
    several = len(_corpora_of(learnt)) > 1
    for one in learnt:
        found = [spread(column) for column in _by_layer(one.runs, where)]
        cells = [measured_cell(weight, one.runs, (spell_spread(weight),)) for weight in found]
        heading = task_cell(one.task, one.corpus if several else "")
        rows.append((heading, text(where), *cells, text(str(len(one.runs)))))
    columns = ("Task", "Place", *name_layers(learnt, where), "n")
    described = describe_sheet(sheet, _corpora_of(learnt))
    known = (*notes_of(sheet.source, sheet.size), *notes)
    return Table(name, described, caption, columns, tuple(rows), known, place=place)


def build_nothing(name: str, title: str) -> Table:
    """What stands where there is no run at all."""
    command = spell_run([f"+experiment={name}", f"data={UNUSED.source}"], sweep=True)
    described = describe_sheet(UNUSED)
    caption = caption_of(title, "dev", described)
    place = Place(UNUSED.source)
    return Table(name, described, caption, ("Runs",), ((NO_RUN,),), (), (command,), place, heads=())
