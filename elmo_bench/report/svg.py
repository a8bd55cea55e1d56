"""Line charts and heat maps as SVG, written by hand: a page that carries them needs nothing else.

Colours are classes, so that the page decides them for light, dark and print.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 440, 270
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 26, 40
COLOURS = 8  # of the page


@dataclass(frozen=True)
class Line:
    """One curve; the class numbers its colour, and the faint ones are single seeds."""

    label: str
    points: tuple[tuple[float, float], ...]
    colour: int
    faint: bool = False
    deviations: tuple[float | None, ...] = ()  # error bars, point by point


@dataclass(frozen=True)
class Axis:
    """What an axis shows and between which values."""

    label: str
    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value lies between the ends, from 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = log10(low), log10(high), log10(value)
        return (value - low) / (high - low) if high > low else 0.5


def linear_axis(label: str, values: Sequence[float]) -> Axis:
    """Round ends and some five ticks around the values."""
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - 1, high + 1
    rough = (high - low) / 5
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first, last = floor(low / step), ceil(high / step)
    ticks = tuple(round(number * step, 10) for number in range(first, last + 1))
    return Axis(label, ticks[0], ticks[-1], ticks)


def log_axis(label: str, values: Sequence[float]) -> Axis:
    """One tick per value there is."""
    ticks = tuple(sorted(set(values)))
    low, high = ticks[0], ticks[-1]
    return Axis(label, low if low < high else low / 2, high if low < high else high * 2, ticks, True)


@dataclass(frozen=True)
class Spot:
    """A point of a curve that stands out; a hollow one is square."""

    x: float
    y: float
    colour: int
    is_hollow: bool = False


def draw_lines(title: str, lines: Sequence[Line], across: Axis, up: Axis, spots: Sequence[Spot] = ()) -> str:
    """A chart with a legend; the title is what a screen reader says."""
    parts = [*_frame(title, across, up)]
    for line in sorted(lines, key=lambda line: not line.faint):
        places = [(_x(across, x), _y(up, y)) for x, y in line.points]
        kind = f"line c{line.colour}" + (" faint" if line.faint else "")
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="{kind}" points="{path}"/>')
        if line.deviations:
            parts += _marks(line, places, up)
    parts += [_spot(spot, _x(across, spot.x), _y(up, spot.y)) for spot in spots]
    legend, rows = _legend([line for line in lines if not line.faint])
    return _svg(title, WIDTH, HEIGHT + 18 * (rows - 1), [*parts, *legend])


def _spot(spot: Spot, x: float, y: float) -> str:
    if spot.is_hollow:
        place = f'x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"'
        return f'<rect class="hollow c{spot.colour}" {place}/>'
    return f'<circle class="dot c{spot.colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'


def _frame(title: str, across: Axis, up: Axis) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for tick in up.ticks:
        y = _y(up, tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in across.ticks:
        x = _x(across, tick)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    middle = (LEFT + right) / 2
    parts.append(
        f'<text class="label" x="{middle:.1f}" y="{HEIGHT - 7}" '
        f'text-anchor="middle">{escape(across.label)}</text>'
    )
    parts.append(
        f'<text class="label" transform="translate(12 {(TOP + bottom) / 2:.1f}) rotate(-90)" '
        f'text-anchor="middle">{escape(up.label)}</text>'
    )
    return parts


def _marks(line: Line, spots: Sequence[tuple[float, float]], up: Axis) -> list[str]:
    parts = []
    for (x, y), (_, value), deviation in zip(spots, line.points, line.deviations, strict=True):
        if deviation:
            ends = [_y(up, max(up.low, min(up.high, value + sign * deviation))) for sign in (-1, 1)]
            bar = f'x1="{x:.1f}" x2="{x:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"'
            parts.append(f'<line class="bar c{line.colour}" {bar}/>')
        parts.append(f'<circle class="dot c{line.colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>')
    return parts


def _legend(lines: Sequence[Line]) -> tuple[list[str], int]:
    """What each line is, and the number of rows: the first is above the chart, the others below."""
    parts, x, y, rows = [], float(LEFT), 12, 1
    for line in lines:
        wide = 40 + 6.4 * len(line.label)
        if x > LEFT and x + wide > WIDTH + 20:
            x, y, rows = float(LEFT), HEIGHT + 18 * (rows - 1) + 6, rows + 1
        parts.append(f'<line class="line c{line.colour}" x1="{x:.1f}" x2="{x + 20:.1f}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{x + 25:.1f}" y="{y + 4}">{escape(line.label)}</text>')
        x += wide
    return parts, rows


@dataclass(frozen=True)
class Chart:
    """Curves between two axes; a page and a paper draw it in their own ways."""

    title: str
    lines: tuple[Line, ...]
    across: Axis
    up: Axis

    @property
    def svg(self) -> str:
        """The drawing of a page."""
        return draw_lines(self.title, self.lines, self.across, self.up)


@dataclass(frozen=True)
class HeatMap:
    """Numbers between 0 and 1 in rows and columns; None where there is none."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]

    @property
    def svg(self) -> str:
        """The drawing of a page."""
        return draw_heat_map(self.title, self.columns, self.rows, self.values)


STRIP, NAMES = 26, 84  # of a drawing of single values: the height of a row, the width of the names


def draw_dots(title: str, rows: Sequence[tuple[str, int, Sequence[float]]], label: str) -> str:
    """Single values as dots on one axis, and their mean as a bar: a row for each name and colour."""
    axis = linear_axis(label, [value for _, _, values in rows for value in values])
    bottom = STRIP * len(rows) + 6
    wide = WIDTH - NAMES - 20

    def place(value: float) -> float:
        return NAMES + axis.share(value) * wide

    parts = []
    for tick in axis.ticks:
        x = place(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="2" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 13}" text-anchor="middle">{tick:g}</text>')
    for number, (name, colour, values) in enumerate(rows):
        y = STRIP * (number + 0.5) + 3
        parts.append(f'<text class="tick" x="0" y="{y + 4:.1f}">{escape(name)}</text>')
        middle = place(sum(values) / len(values))
        ends = f'x1="{middle:.1f}" x2="{middle:.1f}" y1="{y - 9:.1f}" y2="{y + 9:.1f}"'
        parts.append(f'<line class="bar c{colour}" {ends}/>')
        parts += [
            f'<circle class="dot faded c{colour}" cx="{place(value):.1f}" cy="{y:.1f}" r="4.5"/>'
            for value in values
        ]
    middle = NAMES + wide / 2
    parts.append(
        f'<text class="label" x="{middle:.1f}" y="{bottom + 28}" text-anchor="middle">{escape(label)}</text>'
    )
    return _svg(title, WIDTH, bottom + 34, parts)


def colour_of(number: int) -> int:
    """A colour of the page for one of many; the first colour is that of runs without ELMo."""
    return number % (COLOURS - 1) + 2


def draw_heat_map(
    title: str, columns: Sequence[str], rows: Sequence[str], values: Sequence[Sequence[float | None]]
) -> str:
    """Numbers between 0 and 1 as shaded cells that carry their value; nothing where there is none."""
    wide, high, left, top = max(84, *(round(7 * len(name)) for name in columns)), 40, 74, 26
    parts = []
    for number, name in enumerate(columns):
        x = left + wide * (number + 0.5)
        parts.append(f'<text class="tick" x="{x:.1f}" y="16" text-anchor="middle">{escape(name)}</text>')
    for row, name in enumerate(rows):
        y = top + high * row
        parts.append(
            f'<text class="tick" x="{left - 8}" y="{y + high / 2 + 4:.1f}" '
            f'text-anchor="end">{escape(name)}</text>'
        )
        for column, value in enumerate(values[row]):
            parts += _heat(left + wide * column, y, wide - 3, high - 3, value)
    return _svg(title, left + wide * len(columns), top + high * len(rows), parts)


def _heat(x: int, y: int, wide: int, high: int, value: float | None) -> list[str]:
    if value is None:
        return []
    place = f'x="{x}" y="{y}" width="{wide}" height="{high}" rx="3"'
    written = f'x="{x + wide / 2:.1f}" y="{y + high / 2 + 4:.1f}" text-anchor="middle"'
    strong = " strong" if value > 0.5 else ""
    return [
        f'<rect class="heat" {place} fill-opacity="{0.06 + 0.9 * value:.3f}"/>',
        f'<text class="value{strong}" {written}>{value:.2f}</text>',
    ]


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape(title)}">'
    )
    return "\n".join([head, *parts, "</svg>"])


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - BOTTOM - TOP)
