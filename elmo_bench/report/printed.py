"""The figures of a report for a paper: SVG and PDF files as wide as one of two columns, by matplotlib."""

from __future__ import annotations

import io
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Any

from elmo_bench.extras import import_extra
from elmo_bench.files import write_atomically
from elmo_bench.report.convergence import MARK, SIGN
from elmo_bench.report.figures import EXPLANATION
from elmo_bench.report.inputs import TRAINED
from elmo_bench.report.labels import name_apart
from elmo_bench.report.model import Figure, Forest, Gain, Report
from elmo_bench.report.svg import Axis, Chart, HeatMap, Line

FORMATS = ("svg", "pdf")
WIDTH, HEIGHT = 3.33, 2.3  # inches; a column of a paper with two
ROW = 0.17  # inches of a row of a forest plot
INK, GRID, PAPERS = "#1c2024", "#d9dde3", "#5b6470"
# Distinct for colour-blind readers too (Okabe and Ito 2008); the first is that of runs without ELMo.
PALETTE = ("#5b6470", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLE = {
    "font.size": 7,
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.edgecolor": PAPERS,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "pdf.fonttype": 42,  # letters stay letters, which publishers ask for
    "svg.hashsalt": "elmo_bench",  # the same report makes the same bytes
}
SIGNS = {MARK: SIGN, TRAINED: "§"}
MEANINGS = {SIGN: EXPLANATION, SIGNS[TRAINED]: TRAINED}
NO_DATE = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def write_figures(report: Report, directory: Path) -> list[Path]:
    """One file per figure and format; the caption of each is on the page and in captions.txt."""
    matplotlib = import_extra("matplotlib", "--figures")
    drawings: list[Forest | Figure] = []
    for section in report.sections:
        drawings += [*section.forests, *section.figures]
    names = name_apart(map(describe, drawings))
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    with matplotlib.rc_context(STYLE):
        for name, drawing in zip(names, drawings, strict=True):
            canvas = draw(drawing)
            for kind in FORMATS:
                content = io.BytesIO()
                canvas.savefig(content, format=kind, metadata=NO_DATE[kind])
                written.append(directory / f"{name}.{kind}")
                write_atomically(written[-1], content.getvalue())
    captions = "".join(f"{name}: {one.caption}\n" for name, one in zip(names, drawings, strict=True))
    written.append(directory / "captions.txt")
    write_atomically(written[-1], captions.encode())
    return written


def describe(drawing: Forest | Figure) -> str:
    """What a drawing shows, for the name of its file."""
    title = drawing.drawing.title if isinstance(drawing, Figure) else ""
    return f"{drawing.name} {title} {drawing.place.source} {drawing.place.encoder}"


def draw(drawing: Forest | Figure) -> Any:
    """A figure of matplotlib."""
    if isinstance(drawing, Forest):
        return draw_forest(drawing)
    if isinstance(drawing.drawing, Chart):
        return draw_chart(drawing.drawing)
    return draw_heat_map(drawing.drawing)


def draw_chart(chart: Chart) -> Any:
    """Curves with a legend above them."""
    named = [line for line in chart.lines if not line.faint]
    rows = ceil(len(named) / 2)
    canvas, axes = make_canvas(HEIGHT + 0.14 * rows)
    for line in sorted(chart.lines, key=lambda line: not line.faint):
        draw_line(axes, line)
    set_axis(axes.xaxis, axes.set_xlim, chart.across)
    set_axis(axes.yaxis, axes.set_ylim, chart.up)
    axes.set_xlabel(chart.across.label)
    axes.set_ylabel(chart.up.label)
    axes.grid(axis="y", color=GRID, linewidth=0.5)
    canvas.legend(loc="outside upper center", ncols=2, frameon=False, borderpad=0, handlelength=1.6)
    explain(canvas, [line.label for line in named])
    return canvas


def draw_line(axes: Any, line: Line) -> None:
    """One curve, with the deviations of its points if it has them."""
    colour = PALETTE[(line.colour - 1) % len(PALETTE)]
    xs, ys = zip(*line.points, strict=True)
    if line.faint:
        axes.plot(xs, ys, color=colour, alpha=0.35, linewidth=0.5)
        return
    bars = [deviation or 0.0 for deviation in line.deviations] or None
    dashes = "--" if line.colour == 1 else "-"
    marker = "o" if line.deviations or len(xs) == 1 else ""
    axes.errorbar(
        xs, ys, yerr=bars, label=line.label, color=colour, linestyle=dashes, marker=marker, elinewidth=0.7
    )


def set_axis(ticks: Any, limit: Any, axis: Axis) -> None:
    """The ends and the ticks that the page has, as far as there is room for them."""
    if axis.logarithmic:
        ticks.axes.set_xscale("log")
    limit(axis.low, axis.high)
    shown = list(axis.ticks)
    if axis.logarithmic:  # labels of small sizes would touch each other
        shown = [tick for place, tick in enumerate(shown) if is_apart(axis, shown[:place], tick)]
    ticks.set_ticks(shown, [f"{tick:g}" for tick in shown])
    ticks.set_ticks([], minor=True)


def is_apart(axis: Axis, before: list[float], tick: float) -> bool:
    """Whether a tick is far enough from the ones before it for both labels."""
    return all(abs(axis.share(tick) - axis.share(other)) > 0.12 for other in before)


def draw_heat_map(heat: HeatMap) -> Any:
    """Shaded cells that carry their value."""
    canvas, axes = make_canvas(0.7 + 0.28 * len(heat.rows))
    values = [[0.0 if value is None else value for value in row] for row in heat.values]
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, cells in enumerate(heat.values):
        for column, value in enumerate(cells):
            if value is not None:
                ink = "white" if value > 0.5 else INK
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink)
    headings = [fill(name, 14, break_long_words=False) for name in heat.columns]
    slanted = len(headings) > 4
    axes.set_xticks(
        range(len(headings)), headings, rotation=35 if slanted else 0, ha="left" if slanted else "center"
    )
    axes.set_yticks(range(len(heat.rows)), heat.rows)
    axes.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
    axes.spines[:].set_visible(False)
    explain(canvas, heat.columns)
    return canvas


def draw_forest(forest: Forest) -> Any:
    """Gains with their intervals on one axis; hollow: the paper's own (square), or marked (round)."""
    rows = list(rows_of(forest))
    canvas, axes = make_canvas(0.6 + ROW * len(rows))
    names = []
    for place, (name, gain) in enumerate(rows):
        names.append(name)
        if gain is None:
            continue
        colour = PAPERS if gain.is_paper else PALETTE[1]
        if gain.interval:
            axes.plot(gain.interval, (place, place), color=colour)
        fill_with = "white" if gain.is_paper or gain.marks else colour
        marker = "s" if gain.is_paper else "o"
        axes.plot(gain.value, place, marker=marker, color=colour, markerfacecolor=fill_with, linestyle="")
    set_axis(axes.xaxis, axes.set_xlim, forest.axis)
    axes.axvline(0, color=INK, linewidth=0.6, zorder=1)
    axes.grid(axis="x", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), names)
    axes.tick_params(axis="y", length=0)
    for label, (_, gain) in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("normal" if gain else "bold")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel(forest.axis.label)
    explain(canvas, names)
    return canvas


def rows_of(forest: Forest) -> Iterator[tuple[str, Gain | None]]:
    """The headings and the gains of a forest plot from above, with the signs of their marks."""
    for group in forest.groups:
        yield f"{group.task} ({group.corpus})" if group.corpus else group.task, None
        for gain in group.gains:
            yield " ".join([gain.encoder, *(SIGNS[mark] for mark in gain.marks)]), gain


def explain(canvas: Any, labels: Any) -> None:
    """Below a drawing what its signs mean, if a label has one."""
    shown = " ".join(labels)
    if explained := [f"{sign} {meaning}" for sign, meaning in MEANINGS.items() if sign in shown]:
        canvas.supxlabel("\n".join(explained), x=0.01, ha="left", fontsize=6, color=PAPERS)


def make_canvas(height: float) -> tuple[Any, Any]:
    """An empty figure of one column, whose parts keep clear of each other."""
    figures = import_extra("matplotlib.figure", "--figures")
    canvas = figures.Figure(figsize=(WIDTH, height), layout="constrained")
    return canvas, canvas.subplots()
