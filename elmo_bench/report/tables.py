"""Tables of scores: the rows that experiments and tasks describe, with our numbers next to the paper's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from elmo_bench.commands import spell_run
from elmo_bench.config import RowConfig, TableConfig
from elmo_bench.report.captions import caption_of, describe_block, facts_of, notes_of
from elmo_bench.report.cells import (
    NO_RUN,
    NOTHING,
    PASSES,
    TESTS,
    adjust_tests,
    gain_cell,
    interval_cell,
    paper_cell,
    paper_gain,
    printed_gain,
    score_cell,
    speed_cell,
    test_cell,
    text,
)
from elmo_bench.report.comparison import Seeds
from elmo_bench.report.ensembles import NO_ENSEMBLE, ensemble_cell, ensemble_command
from elmo_bench.report.inputs import UNUSED, ReportInputs, ShownTask, is_beside
from elmo_bench.report.model import Cell, Section, Table
from elmo_bench.report.paper import Path, lookup
from elmo_bench.report.published import GENERATED, Block, TaskRuns, Wanted
from elmo_bench.types import UsageError

COLUMNS = ("Task", "System", "Paper", "Paper's gain", "Here", "Gain", "95 % interval", TESTS, PASSES)
OF_THE_BLOCK = ("own", "tuned")  # encoders of rows that name no other
UNTESTED = (NOTHING,) * 4  # gain, interval, tests and speed of a row without a baseline


@dataclass(frozen=True)
class Row:
    """One system of one task: where the paper's numbers stand, and the condition that is ours."""

    label: str
    paper: Path | None = None
    wanted: Wanted | None = None
    against: Wanted | None = None  # the baseline of the gain
    paper_against: Path | None = None
    paper_gain: Path | None = None  # if the paper prints the gain
    encoder: str = "own"  # as in RowConfig
    is_ensemble: bool = False  # of the runs of the condition


@dataclass(frozen=True)
class Scored:
    """A table with the rows of every task."""

    name: str
    table: TableConfig
    experiment: str  # whose command fills its cells
    rows: Mapping[str, tuple[Row, ...]]  # by task


def lay_out(
    name: str, table: TableConfig, tasks: Mapping[str, ShownTask], experiment: str | None = None
) -> Scored:
    """The rows of a table for each of its tasks."""
    try:
        rows = {task: tuple(_rows_of(table, tasks[task])) for task in table.tasks if task in tasks}
    except KeyError as error:
        raise UsageError(f"table {name}: the paper's results have no {error}") from None
    return Scored(name, table, experiment or name, rows)


def _rows_of(table: TableConfig, task: ShownTask) -> list[Row]:
    """The rows that a table has for a task."""
    base: Path | None = None
    if table.paper:
        whole = lookup("tables", table.paper)
        base = ("tables", table.paper)
        if not table.all_systems:
            base = (*base, task.paper.name) if task.paper.name and task.paper.name in whole else None
    return _listed_rows(table, base) if table.all_systems and base else _own_rows(table, task, base)


def _own_rows(table: TableConfig, task: ShownTask, base: Path | None) -> list[Row]:
    """The rows in the order of the experiment's file; one with nothing to show for the task is left out."""
    paths = {_label(row): _path_of(row, base, task) for row in table.rows}
    wanted = {_label(row): _wanted(row) for row in table.rows}
    first = next((_label(row) for row in table.rows if row.elmo == "none"), None)
    rows = []
    for row in table.rows:
        label = _label(row)
        made = Row(label, paths[label], wanted[label], encoder=row.encoder, is_ensemble=row.ensemble)
        before = row.against or first
        if before is not None and row.elmo not in (None, "none") and not row.ensemble and label != before:
            if before not in wanted:
                raise UsageError(f"row {label}: there is no row {before} that its gain could be over")
            made = replace(
                made,
                against=wanted[before],
                paper_against=paths[before],
                paper_gain=_path_of_gain(row, base, paths[label]),
            )
        if made.paper or made.wanted:
            rows.append(made)
    return rows


def _label(row: RowConfig) -> str:
    return row.label or str(row.paper)


def _path_of_gain(row: RowConfig, base: Path | None, path: Path | None) -> Path | None:
    """Where the paper prints the gain of a row, if it does."""
    if row.paper_gain:
        return ("tables", *row.paper_gain.split("/"))
    return base if row.printed_gain and path else None


def _listed_rows(table: TableConfig, base: Path) -> list[Row]:
    """Every system of the paper's table in its order, then the rows that are ours alone."""
    entries = lookup(*base)
    ours = {row.paper: row for row in table.rows if row.paper}
    for key in ours.keys() - entries.keys():
        raise KeyError(key)
    systems = [key for key, entry in entries.items() if "value" in entry or "kind" in entry]  # no remarks
    listed = [ours.get(key, RowConfig(paper=key)) for key in systems]
    further = [row for row in table.rows if not row.paper]
    task = ShownTask("", "")
    return _own_rows(table.model_copy(update={"rows": (*listed, *further)}), task, base)


def _path_of(row: RowConfig, base: Path | None, task: ShownTask) -> Path | None:
    """Where the paper's number of a row stands; nothing where the paper's table does not have the task."""
    if row.paper is None:
        return None
    named, _, key = row.paper.partition("/")
    if "/" in key:
        path = ("tables", *row.paper.split("/"))
        lookup(*path)
        return path
    if key and named in lookup("tables"):  # the number stands in another table
        name = task.paper.name
        base = ("tables", named, name) if name and name in lookup("tables", named) else None
    else:
        key = row.paper
    if base is None:
        return None
    lookup(*base, key)
    return (*base, key)


def _wanted(row: RowConfig) -> Wanted | None:
    return None if row.elmo is None else Wanted(row.elmo, row.words, settings=row.settings)


def build_section(scored: Scored, inputs: ReportInputs) -> Section:
    """One table per block; without any run, the paper's numbers and the commands."""
    tables = [build_table(scored, block, inputs) for block in _blocks_of(scored, inputs)]
    shown = [table for table in tables if table.rows] or [build_table(scored, UNUSED, inputs)]
    return Section(scored.name, scored.table.title, scored.table.about, tuple(shown))


def _blocks_of(scored: Scored, inputs: ReportInputs) -> list[Block]:
    """The blocks that have a table of their own.

    A fine-tuned encoder is a row of the table of the encoder that it was. An encoder that a row names is that
    row of every other encoder's table; if no other has been run, the table has no encoder of its own.
    """
    named = {row.encoder for rows in scored.rows.values() for row in rows}
    blocks = [block for block in inputs.blocks(scored.rows) if not inputs.is_tuned(block)]
    own = [block for block in blocks if block.encoder not in named]
    lonely = [
        Block(block.source, block.corpus, block.size)
        for block in blocks
        if block.encoder in named and not any(is_beside(block, other) for other in own)
    ]
    return [*own, *dict.fromkeys(lonely)]


def build_table(scored: Scored, block: Block, inputs: ReportInputs) -> Table:
    """The rows of the tasks that a block has a corpus for."""
    rows: list[tuple[Cell, ...]] = []
    missing: list[str] = []
    ensembles: list[str] = []  # commands
    notes, facts = notes_of(block), list[str]()
    for name, wanted in scored.rows.items():
        task = inputs.tasks[name]
        runs = inputs.of_task(block, task)
        found = [
            (row, inputs.of_encoder(block, task, row.encoder).find(row.wanted) if row.wanted else {})
            for row in wanted
        ]
        if not inputs.lists(block, task, any(row.against and seeds for row, seeds in found)):
            continue
        # A row of another encoder is there for the paper's number or for runs.
        found = [(row, seeds) for row, seeds in found if seeds or row.paper or row.encoder in OF_THE_BLOCK]
        built = [build_row(scored.table, task, row, seeds, runs, inputs) for row, seeds in found]
        rows += built
        facts += _facts_of_rows(task, block, found)
        if runs.fraction != 1:
            notes.append(
                f"{task.title}: trained on {100 * runs.fraction:g} % of its train split (size {block.size})."
            )
        if any(NO_RUN in cells for cells in built):
            missing.append(name)
        for (_, seeds), cells in zip(found, built, strict=True):
            if NO_ENSEMBLE in cells:
                ensembles += ensemble_command(name, seeds)
    commands = [command_for(scored.experiment, missing, block, inputs.sizes)] if missing else []
    return Table(
        name=scored.name,
        block=describe_block(block),
        caption=caption_of(scored.table.title, scored.table.split, block, facts),
        columns=COLUMNS,
        rows=adjust_tests(COLUMNS, rows),
        notes=tuple(notes),
        commands=(*commands, *ensembles),
    )


def _facts_of_rows(task: ShownTask, block: Block, rows: Sequence[tuple[Row, Seeds]]) -> Iterator[str]:
    """What the caption says of a task's rows; those with settings of their own are named."""
    usual = [run for row, seeds in rows if row.wanted and not row.wanted.settings for run in seeds.values()]
    others = {row.label: seeds.values() for row, seeds in rows if row.wanted and row.wanted.settings}
    yield from facts_of(task, block, usual, others)


def build_row(
    table: TableConfig, task: ShownTask, row: Row, seeds: Seeds, runs: TaskRuns, inputs: ReportInputs
) -> tuple[Cell, ...]:
    """One system: the paper's number and gain, ours, and how sure ours is."""
    printed = lookup(*row.paper) if row.paper else None
    theirs = paper_cell(printed) if printed else NOTHING
    gained = NOTHING
    if row.paper_gain:
        gained = printed_gain(lookup(*row.paper_gain))
    elif printed and row.paper_against:
        gained = paper_gain(printed, lookup(*row.paper_against))
    heading = (text(task.title), text(row.label), theirs, gained)
    if row.wanted is None:
        return (*heading, NOTHING, *UNTESTED)
    if row.is_ensemble:
        return (*heading, ensemble_cell(table, seeds, inputs), *UNTESTED)
    if not seeds:  # the table's command makes the runs of its own encoder
        return (*heading, NO_RUN if row.encoder in OF_THE_BLOCK else NOTHING, *UNTESTED)
    inputs.show(task, seeds)
    cells = (*heading, score_cell(list(seeds.values()), table.split, table.statistics))
    if not row.against:
        return (*cells, *UNTESTED)
    metric = next(iter(seeds.values())).record.metric
    before = runs.baseline(seeds, row.against, row.wanted.settings)
    return (*cells, *compare_cells(inputs, before, seeds, table.split, metric))


def compare_cells(
    inputs: ReportInputs, before: Seeds, after: Seeds, split: str, metric: str
) -> tuple[Cell, ...]:
    """Gain, interval, tests and speed of learning over the seeds that both have."""
    found = inputs.referee.compare(before, after, split, metric)
    if found is None:
        return UNTESTED
    pairs = [(before[seed], after[seed]) for seed in found.seeds]
    return gain_cell(found), interval_cell(found), test_cell(found), speed_cell(pairs)


def command_for(experiment: str, tasks: Sequence[str], block: Block, sizes: Collection[str]) -> str:
    """The command that fills the empty cells of a block; a size is named unless the source chooses it."""
    words = [f"+experiment={experiment}", f"task={','.join(tasks)}", f"data={block.source}"]
    if block.source != GENERATED:
        words.append(f"data.corpus={block.corpus}")
    words += block.chosen_by
    if block.size in sizes and block.size != block.source:
        words.append(f"size={block.size}")
    return spell_run(words, sweep=True)
