"""A report as one page that needs nothing else: no network, no build step, and only a script of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from elmo_bench.report.cells import NO_RUN, NOTHING
from elmo_bench.report.details import conditions_of
from elmo_bench.report.drawings import SharedParts, drawings_of
from elmo_bench.report.model import Cell, Details, Figure, Forest, Place, Report, Section, Table
from elmo_bench.report.published import GENERATED
from elmo_bench.report.remarks import Said, say_once
from elmo_bench.report.settings import group_settings
from elmo_bench.report.templates import Filter, read_packaged, render_page


@dataclass(frozen=True)
class Part:
    """What a section shows of one source and encoder; a folded part is opened by the reader."""

    place: Place
    is_folded: bool
    forests: tuple[Forest, ...]
    figures: tuple[tuple[Figure, Said], ...]
    tables: tuple[tuple[Table, Said], ...]

    @property
    def title(self) -> str:
        """What a reader opens."""
        if self.is_empty and (named := [table.folded for table, _ in self.tables if table.folded]):
            return ", ".join(named)
        source = f"source {self.place.source}" if self.place.source else "all sources"
        source += " (generated world)" if self.place.source == GENERATED else ""
        encoder = f", encoder {self.place.encoder}" if self.place.encoder else ""
        return f"{source}{encoder}{': no run' if self.is_empty else ''}"

    @property
    def is_empty(self) -> bool:
        """Whether no run is shown."""
        return not self.forests and not self.figures and all(table.is_empty for table, _ in self.tables)


@dataclass(frozen=True)
class Chapter:
    """A section with its parts."""

    section: Section
    parts: tuple[Part, ...]


def write_page(report: Report, directory: Path = Path()) -> str:
    """index.html; its links to records are relative to the directory in which it will lie."""
    known = openable(report.details)
    shared = SharedParts(drawings_of(report))
    filters: dict[str, Filter] = {
        "drawn": shared.draw,
        "beside": lambda path: Path(os.path.relpath(path, directory)).as_posix(),
        "details": lambda runs: detail_of(runs, known),
        "unbroken": keep_together,
        "hidden_value": hidden_value,
        "percent": lambda share: f"{100 * share:.2f}%",
    }
    chapters = tuple(divide(report.sections))
    families = tuple(group_settings(report.details.conditions))
    return render_page(
        "page.html",
        filters,
        report=report,
        no_run=NO_RUN,
        nothing=NOTHING,
        chapters=chapters,
        choices=list_choices(report.sections),
        shared_parts=shared.define(),
        families=families,
        family_of={condition: family for family in families for condition in family.conditions},
        style=Markup(read_packaged("page.css")),
        script=Markup(read_packaged("page.js")),
    )


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


def openable(details: Details) -> frozenset[str]:
    """The ids of all details."""
    conditions = {f"c-{one.condition}" for one in details.conditions}
    return frozenset(conditions | {f"p-{pair.after}-{pair.before}" for pair in details.pairs})


def detail_of(runs: Iterable[str], known: frozenset[str]) -> str:
    """The id of what a cell opens to: its two conditions or its first; empty where there is nothing."""
    conditions = conditions_of(runs)
    pair, single = f"p-{'-'.join(conditions)}", f"c-{''.join(conditions[:1])}"
    return pair if pair in known else single if single in known else ""


def divide(sections: Sequence[Section]) -> Iterator[Chapter]:
    """Sections in parts; every remark is said in full once."""
    placed = [_group(section) for section in sections]
    noted = [
        notes
        for groups in placed
        for _, figures, tables in groups.values()
        for notes in [*(figure.notes for figure in figures), *(table.notes for table in tables)]
    ]
    said = iter(say_once(noted))
    for section, groups in zip(sections, placed, strict=True):
        parts = [
            Part(
                place,
                is_folded=True,
                forests=tuple(forests),
                figures=tuple((figure, next(said)) for figure in figures),
                tables=tuple((table, next(said)) for table in tables),
            )
            for place, (forests, figures, tables) in groups.items()
        ]
        yield Chapter(section, tuple(_unfold(parts)))


Contents = tuple[list[Forest], list[Figure], list[Table]]


def _group(section: Section) -> dict[Place, Contents]:
    """What a section has of each source and encoder, in its order."""
    groups: dict[Place, Contents] = {}

    def group_of(place: Place) -> Contents:
        key = Place(place.source, place.encoder, is_aside=place.is_aside)
        return groups.setdefault(key, ([], [], []))

    for forest in section.forests:
        group_of(forest.place)[0].append(forest)
    for figure in section.figures:
        group_of(figure.place)[1].append(figure)
    for table in section.tables:
        group_of(table.place)[2].append(table)
    return groups


def _unfold(parts: Sequence[Part]) -> Iterator[Part]:
    """The first part with something to show is open, and those that follow are folded."""
    is_shown = False
    for part in parts:
        if is_shown or part.is_empty or part.place.is_aside:
            yield part
        else:
            is_shown = True
            yield replace(part, is_folded=False)


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
