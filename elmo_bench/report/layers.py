"""Layer by layer: the score of every single layer of several encoders, and what their mixes weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from elmo_bench.config import TableConfig
from elmo_bench.report.captions import notes_of
from elmo_bench.report.cells import (
    NOTHING,
    encoder_cell,
    measured_cell,
    score_cell,
    spell_spread,
    task_cell,
    text,
)
from elmo_bench.report.comparison import Run, Seeds
from elmo_bench.report.convergence import is_one_pass
from elmo_bench.report.figures import build_nothing, explain_sign, sign
from elmo_bench.report.inputs import ReportInputs
from elmo_bench.report.model import Cell, Figure, Place, Section, Table
from elmo_bench.report.side_by_side import Column, Field, find_fields
from elmo_bench.report.statistics import spread
from elmo_bench.report.svg import Axis, Chart, HeatMap, Line, colour_of, linear_axis

MIX = "all"
PLACES = ("input", "output")  # where a mix enters a head
COLUMNS = ("Task", "Encoder", "Layer", "Here", "Weight at the input", "Weight at the output")


@dataclass(frozen=True)
class Layered:
    """One encoder on one task: its runs on single layers, and those of the mix."""

    name: str
    colour: int
    single: Mapping[int, Seeds]  # by layer
    mix: Seeds

    @property
    def runs(self) -> list[Run]:
        """All of the runs."""
        return [run for seeds in (*self.single.values(), self.mix) for run in seeds.values()]

    def weights(self, place: str) -> dict[int, float]:
        """The mean weights of the mix at a place, by layer; none where it does not learn them."""
        rows = [_weights(run, place) for run in self.mix.values()]
        return {layer: mean(row[layer] for row in rows) for layer in rows[0]} if rows and all(rows) else {}


def build_layers(name: str, table: TableConfig, inputs: ReportInputs) -> Section:
    """One table per source and size, and for each task two kinds of figures."""
    tables, figures = [], []
    for field in find_fields(inputs, table.tasks):
        rows: list[tuple[Cell, ...]] = []
        for column in field.columns:
            found = [
                one for one in _layered(field, column) if len(one.single) > 1 or (one.single and one.mix)
            ]
            if not found:
                continue
            rows += _rows(column, found, table.split, inputs)
            figures.append(_curves(name, table, field, column, found, inputs))
            figures += _weight_maps(name, table, field, column, found, inputs)
        if rows:
            tables.append(
                Table(
                    name,
                    field.place,
                    f"{table.title} · {table.split} · {field.place}",
                    COLUMNS,
                    tuple(rows),
                    tuple(notes_of(field.source, field.size)),
                    place=Place(field.source),
                )
            )
    empty = (build_nothing(name, table.title),)
    return Section(name, table.title, table.about, tuple(tables) or empty, tuple(figures))


def _layered(field: Field, column: Column) -> list[Layered]:
    found = []
    for number, (encoder, name) in enumerate(field.names.items()):
        layers = {
            layer
            for run in column.runs
            if isinstance(layer := run.record.identity["elmo"].get("layers"), int)
        }
        single = {layer: column.choose(encoder, column.on_layer(layer)) for layer in sorted(layers)}
        kept = {layer: seeds for layer, seeds in single.items() if seeds}
        mix = column.choose(encoder, column.on_layer(MIX))
        found.append(Layered(name, colour_of(number), kept, mix))
    return found


def _rows(
    column: Column, found: Sequence[Layered], split: str, inputs: ReportInputs
) -> list[tuple[Cell, ...]]:
    rows = []
    task = inputs.tasks[column.task]
    title = task_cell(task, column.corpus)
    for one in found:
        mixed = {place: _weight_cells(one.mix, place) for place in PLACES}
        for layer, seeds in one.single.items():
            inputs.show(task, seeds)
            weights = (mixed[place].get(layer, NOTHING) for place in PLACES)
            score = score_cell(list(seeds.values()), split)
            rows.append((title, encoder_cell(one.name), text(str(layer)), score, *weights))
        if one.mix:
            inputs.show(task, one.mix)
            score = score_cell(list(one.mix.values()), split)
            rows.append((title, encoder_cell(one.name), text("mix"), score, NOTHING, NOTHING))
    return rows


def _weight_cells(mix: Seeds, place: str) -> dict[int, Cell]:
    """The weight of every layer over the seeds, where all of them have learnt weights."""
    runs = list(mix.values())
    rows = [_weights(run, place) for run in runs]
    if not rows or not all(rows):
        return {}
    found = {layer: spread([row[layer] for row in rows]) for layer in rows[0]}
    return {layer: measured_cell(one, runs, (spell_spread(one),)) for layer, one in found.items()}


def _weights(run: Run, place: str) -> dict[int, float]:
    """The weights of a mix of several layers, by layer; none where nothing is trained."""
    weights = run.record.layer_weights(place)
    return weights if len(weights) > 1 and not is_one_pass(run.record) else {}


def _curves(
    name: str,
    table: TableConfig,
    field: Field,
    column: Column,
    found: Sequence[Layered],
    inputs: ReportInputs,
) -> Figure:
    """The score against the number of the layer; a thin line has the height of the mix."""
    lines = []
    for one in found:
        points = {layer: _scores(seeds, table.split) for layer, seeds in one.single.items()}
        lines.append(
            Line(
                sign(one.name, one.runs),
                tuple((layer, mean(scores)) for layer, scores in points.items()),
                one.colour,
                deviations=tuple(spread(scores).deviation for scores in points.values()),
            )
        )
        if one.mix:
            height = mean(_scores(one.mix, table.split))
            lines.append(Line(one.name, ((0, height), (max(points), height)), one.colour, faint=True))
    metric = found[0].runs[0].record.metric
    title = inputs.tasks[column.task].title
    highest = max(x for line in lines for x, _ in line.points)
    across = linear_axis("layer", [0, max(highest, 1)])
    whole = tuple(tick for tick in across.ticks if tick == round(tick) and tick <= highest)
    axis = Axis("layer", -0.2, highest + 0.2, whole)
    up = linear_axis(f"{table.split} {metric}", [y for line in lines for _, y in line.points])
    drawing = Chart(f"{title}, layer by layer", tuple(lines), axis, up)
    where = f"{title} ({column.corpus}) · {table.split} · {field.place}"
    caption = f"{table.title}: {where}. Thin line: the mix of all layers"
    return Figure(name, explain_sign(caption, drawing), drawing, place=Place(field.source, task=title))


def _scores(seeds: Seeds, split: str) -> list[float]:
    return [run.record.scores[split][run.record.metric] for run in seeds.values()]


def _weight_maps(
    name: str,
    table: TableConfig,
    field: Field,
    column: Column,
    found: Sequence[Layered],
    inputs: ReportInputs,
) -> list[Figure]:
    """What the mixes weigh at each place, the encoders beside each other."""
    figures = []
    title = inputs.tasks[column.task].title
    for place in PLACES:
        learnt = {
            sign(one.name, one.mix.values()): weights for one in found if (weights := one.weights(place))
        }
        if learnt:
            layers = sorted(set().union(*learnt.values()))
            values = [[weights.get(layer) for weights in learnt.values()] for layer in layers]
            names = [f"layer {layer}" for layer in layers]
            rows = tuple(map(tuple, values[::-1]))
            heading = f"Weights of {title} at the {place}"
            drawing = HeatMap(heading, tuple(learnt), tuple(names[::-1]), rows)
            where = f"{title} ({column.corpus}), at the {place} · {field.place}"
            caption = explain_sign(f"{table.title}: weights of the mix, {where}", drawing)
            figures.append(Figure(name, caption, drawing, place=Place(field.source, task=title)))
    return figures
