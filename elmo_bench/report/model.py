"""What a report is made of, before it is written in any format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from elmo_bench.report.examples import Case, Confusion
from elmo_bench.report.svg import Axis, Chart, HeatMap

Head = Literal["task", "system"]
Kind = Literal["text", "paper", "unverified", "score", "detail", "verdict", "missing", "nothing"]


@dataclass(frozen=True)
class Cell:
    """One cell: its lines as all formats print them, and the numbers behind them in full."""

    lines: tuple[str, ...] = ()
    kind: Kind = "text"
    value: float | None = None  # a mean, a gain, or the paper's number
    deviation: float | None = None  # standard deviation over runs
    count: int | None = None  # of runs
    marks: tuple[str, ...] = ()  # what keeps a reader from trusting the number, such as "not converged"
    runs: tuple[str, ...] = ()  # condition and seed of every run, those of the baseline last
    task: str = ""  # the title of the task that the row is about
    encoder: str = ""  # the encoder that the row is about, where the table has several

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
class Place:
    """Which runs a table or a drawing shows, for a reader who looks for some of them."""

    source: str = ""  # empty where it has several
    encoder: str = ""  # the same
    task: str = ""  # the title; the same
    is_aside: bool = False  # of a further encoder of its source, such as a control


@dataclass(frozen=True)
class Table:
    """One table."""

    name: str
    block: str  # source, corpus, size and encoder in words
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # what fills the cells without a run
    place: Place = Place()
    heads: tuple[Head, ...] = ("task", "system")  # what the first cells of every row name
    folded: str = ""  # what a page calls it where it is folded; empty: its caption, or its source

    @property
    def is_empty(self) -> bool:
        """Whether it has runs to show and shows none."""
        kinds = {cell.kind for row in self.rows for cell in row}
        return "missing" in kinds and "score" not in kinds


@dataclass(frozen=True)
class Figure:
    """One drawing; its caption says in words what it shows."""

    name: str
    caption: str
    drawing: Chart | HeatMap
    notes: tuple[str, ...] = ()
    place: Place = Place()

    @property
    def svg(self) -> str:
        """The drawing of a page."""
        return self.drawing.svg


@dataclass(frozen=True)
class Gain:
    """What an encoder gains on one task, or what ELMo does in the paper."""

    encoder: str
    value: float
    interval: tuple[float, float] | None = None  # 95 %
    count: int | None = None  # of seeds
    marks: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    is_paper: bool = False


@dataclass(frozen=True)
class Gains:
    """The gains on one task and corpus, below each other."""

    task: str
    corpus: str
    gains: tuple[Gain, ...]


@dataclass(frozen=True)
class Forest:
    """Gains with their intervals on one axis, task by task."""

    name: str
    caption: str
    axis: Axis
    groups: tuple[Gains, ...]
    place: Place = Place()


@dataclass(frozen=True)
class Section:
    """One of the paper's tables or figures, source by source."""

    name: str
    title: str
    about: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    forests: tuple[Forest, ...] = ()
    is_aside: bool = False  # no part of the paper: a page folds it
    is_apart: bool = False  # large drawings: a page links to them


@dataclass(frozen=True)
class SeedDetail:
    """One run of a condition, and where its files lie."""

    seed: int
    scores: Mapping[str, float]  # the metric by split
    best_epoch: float | None
    ended: str  # why training did
    updates: int | None
    seconds: float | None  # of training
    code: str
    record: Path
    counts: Path
    predictions: Path | None = None  # where they are at hand


@dataclass(frozen=True)
class ConditionDetail:
    """What a cell links to: the runs of one condition."""

    condition: str
    task: str
    described: str
    setting: str  # source, corpus and size
    metric: str
    marks: tuple[str, ...]
    seeds: tuple[SeedDetail, ...]
    dots: str  # a drawing
    curves: str  # another; empty where nothing was trained in epochs
    scores: tuple[tuple[str, ...], ...]  # by label or name; the first row has the headings
    settings: tuple[tuple[str, str], ...]
    command: str
    confusion: Confusion | None = None


@dataclass(frozen=True)
class Examples:
    """Where one of two runs with the same seed is right and the other wrong."""

    seed: int
    before: tuple[Case, ...]  # the run without ELMo is right
    after: tuple[Case, ...]  # the run with it is
    has_text: bool  # else the ids alone may be shown


@dataclass(frozen=True)
class PairDetail:
    """What a gain links to: its two conditions, seed by seed."""

    title: str
    before: str
    after: str
    first: str  # the conditions in words
    second: str
    dots: str
    rows: tuple[tuple[str, ...], ...]  # the first row has the headings
    examples: Examples | None = None  # of Table 1's conditions, where predictions are at hand
    asks_for_examples: bool = False  # whether the page says that there are none


@dataclass(frozen=True)
class Details:
    """What the cells of a report link to."""

    conditions: tuple[ConditionDetail, ...] = ()
    pairs: tuple[PairDetail, ...] = ()


@dataclass(frozen=True)
class Report:
    """All of it."""

    summary: str
    sections: tuple[Section, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    details: Details = Details()
