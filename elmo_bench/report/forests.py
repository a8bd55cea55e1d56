"""What every encoder gains on every task, on one axis: the figure that a page opens with."""

from __future__ import annotations

from collections.abc import Iterator

from elmo_bench.config import TableConfig
from elmo_bench.report.cells import name_pairs, printed_gain
from elmo_bench.report.convergence import MARK
from elmo_bench.report.encoders import Entries, Entry, find_entries
from elmo_bench.report.inputs import TRAINED, ReportInputs
from elmo_bench.report.model import Forest, Gain, Gains, Place, Section
from elmo_bench.report.paper import lookup
from elmo_bench.report.side_by_side import Column, Field, find_fields
from elmo_bench.report.svg import linear_axis

NAME, TITLE = "gains", "What ELMo gains"
ABOUT = (
    "The gain of every encoder over the same run without one, task by task, with its 95 % interval: over "
    "seeds and test examples, or over examples alone with fewer than three seeds or runs without chance. The "
    f"hollow mark is the paper's gain, on its own data. {MARK.capitalize()}: a run met its cap on epochs, "
    f"and the gain may be one of speed. {TRAINED.capitalize()}: the gain does not measure the encoder."
)
KIND = "encoders"  # of the tables that say which tasks are shown


def build_gains(inputs: ReportInputs) -> Section | None:
    """One drawing per source and size; nothing without a gain."""
    described = next((table for table in inputs.tables.values() if table.kind == KIND), None)
    if described is None:
        return None
    forests = tuple(_forests(described, inputs))
    return Section(NAME, TITLE, ABOUT, forests=forests) if forests else None


def _forests(table: TableConfig, inputs: ReportInputs) -> Iterator[Forest]:
    for field in find_fields(inputs, table.tasks):
        entries = find_entries(field, table.split, inputs)
        if groups := tuple(_groups(table, field, entries, inputs)):
            gains = [gain for group in groups for gain in group.gains]
            ends = [end for gain in gains for end in (gain.value, *(gain.interval or ()))]
            axis = linear_axis(f"points gained on {table.split}", [0.0, *ends])
            caption = f"{TITLE} · {table.split} · {field.place}{spell_costs(field)}"
            yield Forest(NAME, caption, axis, groups, Place(field.source))


def spell_costs(field: Field) -> str:
    """How long each encoder takes, for the caption; nothing where no speed was measured."""
    costs = [
        f"{name} {1000 * speed.seconds / speed.tokens:.2g} s"
        for encoder, name in field.names.items()
        if (facts := field.facts.get(encoder)) and (speed := facts.speed)
    ]
    return f". 1,000 tokens take: {', '.join(costs)}" if costs else ""


def _groups(table: TableConfig, field: Field, entries: Entries, inputs: ReportInputs) -> Iterator[Gains]:
    for number, column in enumerate(field.columns):
        gains = [
            _gain(name, entry)
            for encoder, name in field.names.items()
            if (entry := entries[encoder][number]).gain
        ]
        if gains:
            theirs = paper_gain_of(table, column, inputs)
            printed = [] if theirs is None else [Gain("ELMo in the paper", theirs, is_paper=True)]
            yield Gains(inputs.tasks[column.task].title, column.corpus, (*gains, *printed))


def _gain(encoder: str, entry: Entry) -> Gain:
    assert entry.gain is not None
    main = entry.gain.main
    return Gain(
        encoder,
        entry.gain.gain,
        (main.low, main.high) if main else None,
        len(entry.gain.seeds),
        (*((MARK,) if entry.gain.capped else ()), *entry.marks),
        name_pairs(entry.pairs),
    )


def paper_gain_of(table: TableConfig, column: Column, inputs: ReportInputs) -> float | None:
    """The gain that the paper's table prints for a task; none where it does not have the task."""
    row = inputs.tasks[column.task].paper.name
    if not table.paper or not row or row not in lookup("tables", table.paper):
        return None
    return printed_gain(lookup("tables", table.paper, row)).value
