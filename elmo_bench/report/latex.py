"""A report as LaTeX tables that fit one column of a paper, or both; what is wider or longer is split."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from elmo_bench.commands import name_commands
from elmo_bench.report.formats import emphasise, one_line
from elmo_bench.report.labels import name_apart
from elmo_bench.report.model import Cell, Report, Table
from elmo_bench.report.templates import Filter, render_text

ESCAPES = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_\allowbreak{}",
    "<": "$<$",
    ">": "$>$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "→": r"$\to$",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "·": r"$\cdot$",
    "³": "$^3$",
    "λ": r"$\lambda$",
    "γ": r"$\gamma$",
    "φ": r"$\varphi$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "–": "--",
    "\n": " ",
}
# Characters beside each other in \scriptsize: in one of two columns (7.7 cm in ACL's style), and over both or
# in a paper with one (12 cm in LaTeX's own style).
COLUMN, PAGE = 54, 84
DOWN = 60  # lines of a table and its notes that leave room for its caption on a page
LEAST = 20  # of them for the rows, however long the notes are
WIDEST, NARROWEST = 16, 4  # of a column of a table, in characters
BETWEEN = 2  # characters, of space to the next column


@dataclass(frozen=True)
class Column:
    """A heading and the share of the width that its cells have."""

    heading: str
    share: float


@dataclass(frozen=True)
class Piece:
    """As much of a table as fits one column of one page."""

    label: str
    caption: str
    is_wide: bool  # as wide as the page, not as one of two columns
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]


def write_latex(report: Report) -> str:
    """tables.tex: one table environment for every part, to be read with \\input."""
    filters: dict[str, Filter] = {
        "escape": escape_latex,
        "one_line": one_line,
        "in_cell": write_cell,
    }
    tables = [table for section in report.sections for table in section.tables]
    labels = name_apart(f"{table.name} {table.block}" for table in tables)
    parts = [part for table, label in zip(tables, labels, strict=True) for part in split(table, label)]
    command = name_commands("python -m elmo_bench report")
    return render_text("tables.tex.jinja", filters, report=report, parts=parts, command=command)


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(ESCAPES.get(character, character) for character in text)


def write_cell(cell: Cell) -> str:
    """The lines of a cell below each other."""
    return r"\newline ".join(
        emphasise(r"\textit{{{}}}", escape_latex(one_line(line)), cell) for line in cell.printed
    )


def split(table: Table, label: str) -> Iterator[Piece]:
    """The parts of a table: columns that fit beside each other, and of these, rows that fit on a page."""
    widths = [width_of(table, place) for place in range(len(table.columns))]
    room = max(DOWN - sum(ceil(len(note) / COLUMN) for note in table.notes), LEAST)
    blocks = [
        (places, rows)
        for places in split_columns(table, widths)
        for rows in split_rows(table, places, widths, room)
    ]
    for number, (places, rows) in enumerate(blocks, start=1):
        counted = f" (part {number} of {len(blocks)})" if len(blocks) > 1 else ""
        across = sum(widths[place] for place in places)
        limit = PAGE if across > COLUMN else COLUMN
        columns = [Column(table.columns[place], widths[place] / max(across, limit)) for place in places]
        yield Piece(
            label if number == 1 else f"{label}-part{number}",
            f"{table.caption}{counted}.",
            across > COLUMN,
            tuple(columns),
            tuple(tuple(row[place] for place in places) for row in rows),
            table.notes if number == 1 else (),
        )


def width_of(table: Table, place: int) -> int:
    """The characters that a column needs: its longest line or what is allowed, and never less than a word."""
    lines = [table.columns[place], *(line for row in table.rows for line in row[place].printed)]
    longest = max(map(measure, lines))
    word = max(measure(word) for line in lines for word in re.split(r"[\s_]+", line))
    return max(NARROWEST, min(longest, WIDEST), word) + BETWEEN


def measure(text: str) -> int:
    """The width of a text in characters; capitals are wider than the others."""
    return len(text) + ceil(sum(character.isupper() for character in text) / 2)


def split_columns(table: Table, widths: Sequence[int]) -> Iterator[list[int]]:
    """The places of columns that fit beside each other; the first ones name a row in every part."""
    names = list(range(len(table.heads)))
    block = list(names)
    for place in range(len(names), len(widths)):
        together = sum(widths[other] for other in (*block, place))
        if together > PAGE and len(block) > len(names):
            yield block
            block = list(names)
        block.append(place)
    yield block


def split_rows(
    table: Table, places: Sequence[int], widths: Sequence[int], room: int
) -> Iterator[list[tuple[Cell, ...]]]:
    """The rows that fit below each other in so many lines."""
    block: list[tuple[Cell, ...]] = []
    used = 0
    for row in table.rows:
        needed = max(height_of(row[place], widths[place]) for place in places)
        if block and used + needed > room:
            yield block
            block, used = [], 0
        block.append(row)
        used += needed
    yield block


def height_of(cell: Cell, width: int) -> int:
    """The lines of a cell in a column."""
    return sum(ceil(max(1, len(line)) / (width - BETWEEN)) for line in cell.printed) or 1
