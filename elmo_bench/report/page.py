"""A report as one page: no network, no build step, one script of its own. It links to details beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from markupsafe import Markup

from elmo_bench.report.cells import NO_RUN, NOTHING
from elmo_bench.report.chapters import divide
from elmo_bench.report.detail_pages import DIRECTORY, STYLE, addresses_of, anchors_of, find_address
from elmo_bench.report.model import Cell, Place, Report, Section
from elmo_bench.report.templates import Filter, load_page, read_packaged


def write_page(report: Report) -> str:
    """index.html; what its numbers link to is written by `write_details`."""
    addresses = addresses_of(report.details)
    filters: dict[str, Filter] = {
        "address": lambda runs: find_address(runs, addresses),
        "unbroken": keep_together,
        "hidden_value": hidden_value,
        "percent": lambda share: f"{100 * share:.2f}%",
    }
    return load_page("page.html", filters).render(
        report=report,
        no_run=NO_RUN,
        nothing=NOTHING,
        chapters=tuple(divide([without_remarks(section) for section in report.sections])),
        choices=list_choices(report.sections),
        directory=DIRECTORY,
        anchors=anchors_of(report.sections),
        style=Markup(read_packaged(STYLE)),
        script=Markup(read_packaged("page.js")),
    )


def without_remarks(section: Section) -> Section:
    """A section as the page shows it: remarks on drawings in a page of their own are said there."""
    if not section.is_apart:
        return section
    return replace(section, figures=tuple(replace(figure, notes=()) for figure in section.figures))


def keep_together(line: str, cell: Cell) -> str:
    """A line in which a number stays with its deviation, and an interval with both of its ends."""
    together = line.replace(" ± ", "\u00a0±\u00a0")
    if cell.kind != "detail":
        return together
    return together.replace(", +", ",\u00a0+").replace(", -", ",\u00a0-")


def hidden_value(cell: Cell) -> str | None:
    """What a column is sorted by, where it is not the number that the cell begins with."""
    if cell.value is None:
        return None
    number = re.match(r"[+-]?[\d,]*\.?\d+", cell.text)
    if number:
        decimals = len(number[0].partition(".")[2])
        if float(number[0].replace(",", "")) == round(cell.value, decimals):
            return None
    return f"{cell.value:.6g}"


@dataclass(frozen=True)
class Choices:
    """What a reader can filter by."""

    sources: tuple[str, ...]
    encoders: tuple[str, ...]
    tasks: tuple[str, ...]


def list_choices(sections: Iterable[Section]) -> Choices:
    """Everything that some table, drawing or row is about, in the order in which it appears."""
    places: list[Place] = []
    cells: list[Cell] = []
    for section in sections:
        places += (forest.place for forest in section.forests)
        places += (figure.place for figure in section.figures)
        places += (table.place for table in section.tables)
        cells += (cell for table in section.tables for row in table.rows for cell in row)
    return Choices(
        _distinct(place.source for place in places),
        _distinct([*(place.encoder for place in places), *(cell.encoder for cell in cells)]),
        _distinct([*(cell.task for cell in cells), *(place.task for place in places)]),
    )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))
