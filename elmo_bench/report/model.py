"""What a report is made of, before it is written in any format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "paper", "unverified", "score", "detail", "missing", "nothing"]


@dataclass(frozen=True)
class Cell:
    """One cell: its lines as they are printed, and the number behind them in full."""

    lines: tuple[str, ...] = ()
    kind: Kind = "text"
    value: float | None = None

    @property
    def text(self) -> str:
        return "; ".join(self.lines)


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
