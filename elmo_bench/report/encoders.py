"""What each encoder is worth: every encoder on every task, with its cost beside its gain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from elmo_bench.commands import spell_run
from elmo_bench.config import TableConfig
from elmo_bench.records import EncoderFacts
from elmo_bench.report.captions import notes_of
from elmo_bench.report.cells import (
    LEGEND,
    NO_RUN,
    NOTHING,
    PASSES,
    TESTS,
    adjust_tests,
    encoder_cell,
    marks_of,
    name_pairs,
    score_cell,
    spell_main,
    spell_spread,
    spell_unpaired,
    task_cell,
    text,
)
from elmo_bench.report.comparison import Comparison, Pairs, Seeds, pair_seeds
from elmo_bench.report.figures import build_nothing
from elmo_bench.report.inputs import ReportInputs
from elmo_bench.report.model import Cell, Place, Section, Table
from elmo_bench.report.published import GENERATED, block_of
from elmo_bench.report.side_by_side import NO_ENCODER, Column, Field, describe_choice, find_fields
from elmo_bench.report.statistics import spread
from elmo_bench.report.tables import UNTESTED, compare_cells

NONE = "none"  # the row without an encoder
COST = ("Parameters", "Layers x dim", "Bytes per token", "Tokens per second")
DETAILS = ("Task", "Encoder", "Here", "Dev chose", "Gain", "95 % interval", TESTS, PASSES)
ABOUT_COST = (
    "Bytes per token: of all layers in the store. Tokens per second: measured while a run filled the store, "
    "without loading the encoder and writing the files; empty where nothing was measured. Other work on the "
    "machine at the same time makes an encoder look slower."
)
ABOUT_COMMANDS = (
    "In a command, DIR is the directory that a model lies in. An encoder from outside of the package also "
    "needs the directory of its plug-in, and the settings that its README names."
)


@dataclass(frozen=True)
class Entry:
    """One encoder on one task: the runs that dev chose, their gain, and what dev chose from."""

    column: Column
    encoder: str  # fingerprint
    seeds: Seeds
    before: Seeds  # the baseline
    gain: Comparison | None
    choice: str
    marks: tuple[str, ...] = ()  # of the encoder on this task, whatever its runs

    @property
    def pairs(self) -> Pairs:
        """The runs that the gain compares."""
        return pair_seeds(self.before, self.seeds)


def build_encoders(name: str, table: TableConfig, inputs: ReportInputs) -> Section:
    """Per source and size an overview with the cost, and every gain with its tests."""
    tables: list[Table] = []
    for field in find_fields(inputs, table.tasks):
        entries = find_entries(field, table.split, inputs)
        tables.append(_overview(name, table, field, entries, inputs))
        tables.append(_details(name, table, field, entries, inputs))
    empty = (build_nothing(name, table.title),)
    return Section(name, table.title, table.about, tuple(tables) or empty)


Entries = dict[str, list[Entry]]
"""By encoder, in the order of the columns."""


def find_entries(field: Field, split: str, inputs: ReportInputs) -> Entries:
    """Every encoder on every task of a field; the first is the run without one."""
    return {
        encoder: [_entry(column, encoder, split, inputs) for column in field.columns]
        for encoder in (NO_ENCODER, *field.names)
    }


def _entry(column: Column, encoder: str, split: str, inputs: ReportInputs) -> Entry:
    before = column.baseline()
    if encoder == NO_ENCODER:
        return Entry(column, encoder, before, {}, None, _choice(column, encoder, before))
    seeds = column.choose(encoder, column.usual)
    record = next((run.record for run in seeds.values()), None)
    gain = inputs.referee.compare(before, seeds, split, record.metric) if record else None
    marks = inputs.marks_of_encoder(record) if record else ()
    return Entry(column, encoder, seeds, before, gain, _choice(column, encoder, seeds), marks)


def _choice(column: Column, encoder: str, chosen: Seeds) -> str:
    if not chosen:
        return ""
    is_rival = column.usual if encoder else (lambda record: True)
    return describe_choice(chosen, column.conditions(encoder, is_rival))


def _title(column: Column, inputs: ReportInputs) -> str:
    return f"{inputs.tasks[column.task].title} ({column.corpus})"


def _overview(name: str, table: TableConfig, field: Field, entries: Entries, inputs: ReportInputs) -> Table:
    rows = []
    commands = []
    for encoder, own in entries.items():
        for entry in own:
            inputs.show(inputs.tasks[entry.column.task], entry.seeds)
        cost = _cost_cells(field.facts.get(encoder)) if encoder else (NOTHING,) * len(COST)
        label = field.names.get(encoder, NONE)
        rows.append(
            (
                encoder_cell(label) if encoder else text(label),
                *cost,
                *(_cell(entry, table.split) for entry in own),
            )
        )
        missing = [entry.column.task for entry in own if not entry.seeds]
        if missing:
            commands.append(_command(name, table, field, _chosen_by(field, encoder), missing))
    return Table(
        name,
        field.place,
        f"{table.title} · {table.split} · {field.place}. A cell has the gain over the first row, its 95 % "
        "interval, the score, the number of seeds, and what dev chose",
        ("Encoder", *COST, *(_title(column, inputs) for column in field.columns)),
        tuple(rows),
        (*_notes(field), f"{LEGEND}.", ABOUT_COST, *_speeds(field), *([ABOUT_COMMANDS] if commands else [])),
        tuple(commands),
        Place(field.source),
        heads=("system",),
    )


def _notes(field: Field) -> list[str]:
    return notes_of(field.source, field.size)


def _cell(entry: Entry, split: str) -> Cell:
    """The score of a baseline; the gain of an encoder, and its score."""
    runs = list(entry.seeds.values())
    if not runs:
        return NO_RUN
    choice = [entry.choice] if entry.choice else []
    if entry.gain is None:
        cell = score_cell(runs, split)
        return replace(cell, lines=(*cell.lines, *choice))
    found = spread([run.record.scores[split][run.record.metric] for run in runs])
    interval = [spell_main(entry.gain.main)] if entry.gain.main else []
    unpaired = spell_unpaired(len(entry.pairs), entry.seeds)
    score = (spell_spread(found), f"n = {found.count}")
    capped = marks_of(run.record for run in [*runs, *(before for before, _ in entry.pairs)])
    return Cell(
        (f"{entry.gain.gain:+.2f}", *interval, *unpaired, *score, *choice),
        "score",
        entry.gain.gain,
        count=len(entry.pairs),
        marks=(*capped, *entry.marks),
        runs=name_pairs(entry.pairs),
    )


def _cost_cells(facts: EncoderFacts | None) -> tuple[Cell, ...]:
    if facts is None:
        return (NOTHING,) * len(COST)
    parameters = NOTHING if facts.parameters is None else _number(facts.parameters)
    speed = NOTHING
    if facts.speed:
        rate = facts.speed.tokens / facts.speed.seconds
        speed = Cell((f"{rate:,.0f}",), "text", rate)
    return parameters, text(f"{facts.layers} x {facts.dim}"), _number(facts.token_bytes), speed


def _number(value: int) -> Cell:
    return Cell((f"{value:,}",), "text", value)


def _speeds(field: Field) -> Iterator[str]:
    """Where the speeds were measured, encoder by encoder."""
    places: dict[str, list[str]] = {}
    for encoder, name in field.names.items():
        if (facts := field.facts.get(encoder)) and (speed := facts.speed):
            place = f"{speed.device}, {speed.processor}, {speed.threads} thread{'s' * (speed.threads > 1)}"
            places.setdefault(place, []).append(f"{name} on {speed.tokens:,} tokens")
    for place, measured in places.items():
        yield f"Speed measured with {place}: {', '.join(measured)}."


def _chosen_by(field: Field, encoder: str) -> Sequence[str]:
    """The overrides that choose an encoder."""
    runs = (run for column in field.columns for run in column.runs)
    blocks = (block_of(run.record) for run in runs)
    return next((block.chosen_by for block in blocks if encoder and block.fingerprint == encoder), ())


def _command(name: str, table: TableConfig, field: Field, chosen: Sequence[str], tasks: Iterable[str]) -> str:
    experiment = table.by_source.get(field.source, name)
    words = [f"+experiment={experiment}", f"task={','.join(dict.fromkeys(tasks))}", f"data={field.source}"]
    if field.size == "paper" and field.source not in ("paper", GENERATED):
        words.append("size=paper")
    return spell_run([*words, *chosen], sweep=True)


def _details(name: str, table: TableConfig, field: Field, entries: Entries, inputs: ReportInputs) -> Table:
    """Every gain with its intervals and tests, task by task."""
    by_column = [entry for of_column in zip(*entries.values(), strict=True) for entry in of_column]
    rows = [_detail(entry, field, table.split, inputs) for entry in by_column if entry.seeds]
    return Table(
        name,
        field.place,
        f"{table.title}: tests · {table.split} · {field.place}",
        DETAILS,
        adjust_tests(DETAILS, rows),
        tuple(_notes(field)),
        place=Place(field.source),
    )


def _detail(entry: Entry, field: Field, split: str, inputs: ReportInputs) -> tuple[Cell, ...]:
    runs = list(entry.seeds.values())
    task = task_cell(inputs.tasks[entry.column.task], entry.column.corpus)
    name = field.names.get(entry.encoder)
    heading = task, encoder_cell(name) if name else text(NONE)
    cells = (*heading, score_cell(runs, split), text(entry.choice) if entry.choice else NOTHING)
    if entry.gain is None:
        return (*cells, *UNTESTED)
    return (*cells, *compare_cells(inputs, entry.before, entry.seeds, split, runs[0].record.metric))
