"""The sections of a page in parts: one for each source and encoder, the first of them open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from elmo_bench.report.model import Figure, Forest, Place, Section, Table
from elmo_bench.report.published import GENERATED
from elmo_bench.report.remarks import Said, say_once


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
