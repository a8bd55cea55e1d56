"""The paper's figures from the records: learning curves and layer weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import mean

from elmo_bench.commands import spell_run
from elmo_bench.config import TableConfig
from elmo_bench.report.captions import caption_of, describe_block, facts_of, notes_of
from elmo_bench.report.cells import (
    NO_RUN,
    measured_cell,
    spell_spread,
    text,
)
from elmo_bench.report.comparison import Run, Seeds
from elmo_bench.report.convergence import MARK, SIGN, met_cap
from elmo_bench.report.inputs import UNUSED, ReportInputs, ShownTask
from elmo_bench.report.model import Figure, Section, Table
from elmo_bench.report.published import BASELINE, PAPER, Block
from elmo_bench.report.statistics import spread
from elmo_bench.report.svg import Line, draw_heat_map, draw_lines, linear_axis

CURVES = "Learning curves"
Learnt = dict[str, list[Run]]
"""Runs with layer weights, by the title of the task."""
LOWEST = ("token layer", "LSTM 1", "LSTM 2")  # the names of a biLM's layers, from below
OURS = "elmo_bench."  # begins the dotted path of our encoders, which are biLMs or have one layer


def learning_curves(inputs: ReportInputs) -> Section:
    """Dev score by epoch with and without ELMo, task by task."""
    figures = []
    for block in inputs.blocks(inputs.tasks):
        for task in inputs.tasks.values():
            runs = inputs.of_task(block, task)
            groups = {"without ELMo": runs.find(BASELINE), "with ELMo": runs.find(PAPER)}
            if any(run.record.curve for seeds in groups.values() for run in seeds.values()):
                figures.append(_learning_curve(task, block, groups))
    about = (
        "Dev score after every epoch: the thick line is the mean over the seeds that were still "
        "training, the thin ones are single seeds. The paper prints no such figure, but claims from its "
        "curves (Figure 1's section)."
    )
    return Section("curves", CURVES, about, figures=tuple(figures))


def _learning_curve(task: ShownTask, block: Block, groups: dict[str, Seeds]) -> Figure:
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
    svg = draw_lines(f"Learning curves of {task.title}", lines, across, up)
    facts = facts_of(task, block, (run for seeds in groups.values() for run in seeds.values()))
    caption = explain_sign(caption_of(f"{CURVES}: {task.title}", "dev", block, facts), svg)
    return Figure("curves", caption, svg)


def sign(label: str, runs: Iterable[Run]) -> str:
    """A label of a figure, with a sign if any of its runs met its cap."""
    return f"{label} {SIGN}" if any(met_cap(run.record) for run in runs) else label


def explain_sign(caption: str, svg: str) -> str:
    """The caption of a drawing, which explains the sign if the drawing has it."""
    return f"{caption} · {SIGN} {MARK}: a run met its cap on epochs" if SIGN in svg else caption


def layer_weights(name: str, table: TableConfig, inputs: ReportInputs) -> Section:
    """The softmax-normalised weights s at the input and at the output (Figure 2)."""
    figures = []
    tables = []
    for block in inputs.blocks(inputs.tasks):
        for place in ("input", "output"):
            learnt: Learnt = {}
            facts: list[str] = []
            for task in inputs.tasks.values():
                seeds = inputs.of_task(block, task).find(PAPER)
                if runs := [run for run in seeds.values() if run.record.layer_weights(place)]:
                    learnt[task.title] = runs
                    facts += facts_of(task, block, runs)
            if learnt:
                caption = caption_of(f"{table.title} at the {place}", "training", block, facts)
                figures.append(_weight_map(name, caption, place, learnt))
                tables.append(_weight_table(name, caption, place, block, learnt))
    empty = (build_nothing(name, table.title),)
    return Section(name, table.title, table.about, tuple(tables) or empty, tuple(figures))


def name_layers(learnt: Learnt, place: str) -> list[str]:
    """From below; the layers of an encoder that is no biLM, or of another depth, have numbers."""
    run = next(iter(learnt.values()))[0]
    layers = list(run.record.layer_weights(place))
    plugin = run.record.config.get("encoder", {}).get("plugin", OURS)  # older records have ours
    is_bilm = plugin.startswith(OURS) and layers == list(range(len(LOWEST)))
    return list(LOWEST) if is_bilm else [f"layer {number}" for number in layers]


def _weight_map(name: str, caption: str, place: str, learnt: Learnt) -> Figure:
    columns = {
        sign(task, runs): [mean(column) for column in _by_layer(runs, place)] for task, runs in learnt.items()
    }
    names = name_layers(learnt, place)
    values = [[column[layer] for column in columns.values()] for layer in range(len(names))]
    svg = draw_heat_map(f"Layer weights at the {place}", list(columns), names[::-1], values[::-1])
    return Figure(name, explain_sign(caption, svg), svg)


def _by_layer(runs: Sequence[Run], place: str) -> list[tuple[float, ...]]:
    """The weights of every layer over the runs."""
    return list(zip(*(run.record.layer_weights(place).values() for run in runs), strict=True))


def _weight_table(name: str, caption: str, place: str, block: Block, learnt: Learnt) -> Table:
    rows = []
    for task, runs in learnt.items():
        found = [spread(column) for column in _by_layer(runs, place)]
        cells = [measured_cell(one, runs, (spell_spread(one),)) for one in found]
        rows.append((text(task), text(place), *cells, text(str(len(runs)))))
    columns = ("Task", "Place", *name_layers(learnt, place), "n")
    return Table(name, describe_block(block), caption, columns, tuple(rows), tuple(notes_of(block)))


def build_nothing(name: str, title: str) -> Table:
    """What stands where there is no run at all."""
    command = spell_run([f"+experiment={name}", f"data={UNUSED.source}"], sweep=True)
    caption = caption_of(title, "dev", UNUSED)
    return Table(name, describe_block(UNUSED), caption, ("Runs",), ((NO_RUN,),), (), (command,))
