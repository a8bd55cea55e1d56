"""Line charts and heat maps as SVG, written by hand: a page that carries them needs nothing else.

Colours are classes, so that the page decides them for light, dark and print. There are hundreds of
drawings, so what they share (fonts, widths, the size of a dot, where a text is anchored) is in its style,
and places are whole pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
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
    parts = [*_frame(across, up)]
    for line in sorted(lines, key=lambda line: not line.faint):
        places = [(_x(across, x), _y(up, y)) for x, y in line.points]
        faint = " faint" if line.faint else ""
        parts.append(_path(f"line c{line.colour}{faint}", _steps(places)))
        if line.deviations:
            parts.append(_marks(line, places, up))
    parts += [_spot(spot, _x(across, spot.x), _y(up, spot.y)) for spot in spots]
    legend, rows = _legend([line for line in lines if not line.faint])
    return _svg(title, WIDTH, HEIGHT + 18 * (rows - 1), [*parts, *legend])


def _steps(places: Sequence[tuple[int, int]]) -> Iterator[str]:
    """A line from point to point, each point as the distance from the one before."""
    yield from (f"M{x} {y}" for x, y in places[:1])
    yield from (f"l{x - left} {y - above}" for (left, above), (x, y) in pairwise(places))


def _spot(spot: Spot, x: int, y: int) -> str:
    if spot.is_hollow:
        place = f'x="{x - 4}" y="{y - 4}"'
        return f'<rect class="hollow c{spot.colour}" {place}/>'
    return f'<circle class="c{spot.colour}" cx="{x}" cy="{y}"/>'


def _frame(across: Axis, up: Axis) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    columns = [(_x(across, tick), tick) for tick in across.ticks]
    rows = [(_y(up, tick), tick) for tick in up.ticks]
    yield _path("grid", (f"M{LEFT} {y}H{right}" for y, _ in rows))
    yield _path("axis", [f"M{LEFT} {bottom}H{right}", *(f"M{x} {bottom}v4" for x, _ in columns)])
    yield _names("row", LEFT - 6, 3.5, (f'<text y="{y}">{tick:g}</text>' for y, tick in rows))
    yield _names("column", 0, bottom + 16, (f'<text x="{x}">{tick:g}</text>' for x, tick in columns))
    yield _label(across.label, (LEFT + right) / 2, HEIGHT - 7)
    middle = (TOP + bottom) / 2
    yield f'<text class="label" transform="translate(12 {middle:g}) rotate(-90)">{escape(up.label)}</text>'


def _path(kind: str, strokes: Iterable[str]) -> str:
    return f'<path class="{kind}" d="{"".join(strokes)}"/>'


def _names(kind: str, x: float, y: float, texts: Iterable[str]) -> str:
    """The names of rows or of columns, moved together to where they are written."""
    return f'<g class="{kind}" transform="translate({x:g} {y:g})">{"".join(texts)}</g>'


def _label(text: str, x: float, y: float) -> str:
    return f'<text class="label" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _marks(line: Line, spots: Sequence[tuple[int, int]], up: Axis) -> str:
    parts = []
    for (x, y), (_, value), deviation in zip(spots, line.points, line.deviations, strict=True):
        if deviation:
            ends = [_y(up, max(up.low, min(up.high, value + sign * deviation))) for sign in (-1, 1)]
            parts.append(f'<path d="M{x} {ends[0]}V{ends[1]}"/>')
        parts.append(f'<circle cx="{x}" cy="{y}"/>')
    return f'<g class="c{line.colour}">{"".join(parts)}</g>'


def _legend(lines: Sequence[Line]) -> tuple[list[str], int]:
    """What each line is, and the number of rows: the first is above the chart, the others below."""
    parts, x, y, rows = [], LEFT, 12, 1
    for line in lines:
        wide = 40 + round(6.4 * len(line.label))
        if x > LEFT and x + wide > WIDTH + 20:
            x, y, rows = LEFT, HEIGHT + 18 * (rows - 1) + 6, rows + 1
        parts.append(_path(f"line c{line.colour}", [f"M{x} {y}h20"]))
        parts.append(f'<text x="{x + 25}" y="{y + 4}">{escape(line.label)}</text>')
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

    def place(value: float) -> int:
        return round(NAMES + axis.share(value) * wide)

    columns = [(place(tick), tick) for tick in axis.ticks]
    parts = [
        _path("grid", (f"M{x} 2V{bottom}" for x, _ in columns)),
        _names("column", 0, bottom + 13, (f'<text x="{x}">{tick:g}</text>' for x, tick in columns)),
    ]
    for number, (name, colour, values) in enumerate(rows):
        y = STRIP * (number + 0.5) + 3
        middle = place(sum(values) / len(values))
        dots = (f'<circle cx="{place(value)}"/>' for value in values)
        parts.append(f'<text y="{y + 4:g}">{escape(name)}</text>')
        parts.append(_row(colour, y, [f'<path d="M{middle} -9v18"/>', *dots]))
    return _svg(title, WIDTH, bottom + 34, [*parts, _label(label, NAMES + wide / 2, bottom + 28)])


def _row(colour: int, y: float, parts: Iterable[str]) -> str:
    return f'<g class="dots c{colour}" transform="translate(0 {y:g})">{"".join(parts)}</g>'


def colour_of(number: int) -> int:
    """A colour of the page for one of many; the first colour is that of runs without ELMo."""
    return number % (COLOURS - 1) + 2


def draw_heat_map(
    title: str, columns: Sequence[str], rows: Sequence[str], values: Sequence[Sequence[float | None]]
) -> str:
    """Numbers between 0 and 1 as shaded cells that carry their value; nothing where there is none."""
    wide, high, left, top = max(84, *(round(7 * len(name)) for name in columns)), 40, 74, 26
    named = (
        f'<text x="{left + wide * (number + 0.5):g}">{escape(name)}</text>'
        for number, name in enumerate(columns)
    )
    parts = [_names("column", 0, 16, named)]
    for row, name in enumerate(rows):
        y = top + high * row
        parts.append(_names("row", left - 8, y + high / 2 + 4, [f"<text>{escape(name)}</text>"]))
        for column, value in enumerate(values[row]):
            parts += _heat(left + wide * column, y, wide - 3, high - 3, value)
    return _svg(title, left + wide * len(columns), top + high * len(rows), parts)


def _heat(x: int, y: int, wide: int, high: int, value: float | None) -> list[str]:
    if value is None:
        return []
    place = f'x="{x}" y="{y}" width="{wide}" height="{high}" rx="3"'
    strong = " strong" if value > 0.5 else ""
    return [
        f'<rect class="heat" {place} fill-opacity="{0.06 + 0.9 * value:.3f}"/>',
        f'<text class="value{strong}" x="{x + wide / 2:g}" y="{y + high / 2 + 4:g}">{value:.2f}</text>',
    ]


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}"'
    return "\n".join([f'<svg {size} role="img" aria-label="{escape(title)}">', *parts, "</svg>"])


def _x(axis: Axis, value: float) -> int:
    return round(LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT))


def _y(axis: Axis, value: float) -> int:
    return round(HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - BOTTOM - TOP))
