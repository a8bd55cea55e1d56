"""What a report is made of, before it is written in any format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "paper", "unverified", "score", "detail", "missing", "nothing"]


@dataclass(frozen=True)
class Cell:
    """One cell: its lines as all formats print them, and the numbers behind them in full."""

    lines: tuple[str, ...] = ()
    kind: Kind = "text"
    value: float | None = None  # a mean, a gain, or the paper's number
    deviation: float | None = None  # standard deviation over runs
    count: int | None = None  # of runs
    marks: tuple[str, ...] = ()  # what keeps a reader from trusting the number, such as "not converged"
    runs: tuple[str, ...] = ()  # condition and seed of every run

    @property
    def text(self) -> str:
        """The cell on one line."""
        return "; ".join(self.printed)

    @property
    def printed(self) -> tuple[str, ...]:
        """The lines, the first with the marks."""
        if not self.marks:
            return self.lines
        return (" ".join([*self.lines[:1], *self.marks]), *self.lines[1:])


@dataclass(frozen=True)
class Table:
    """One table of one block."""

    name: str
    block: str  # source, corpus, size and encoder in words
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # what fills the cells without a run


@dataclass(frozen=True)
class Figure:
    """One drawing; its caption says in words what it shows."""

    name: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Section:
    """One of the paper's tables or figures, block by block."""

    name: str
    title: str
    about: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Report:
    """All of it."""

    summary: str
    sections: tuple[Section, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
