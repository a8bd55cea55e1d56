"""Tables of scores: the rows that experiments and tasks describe, with our numbers next to the paper's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from elmo_bench.commands import spell_run
from elmo_bench.config import RowConfig, TableConfig
from elmo_bench.report.captions import caption_of, describe_sheet, facts_of, notes_of
from elmo_bench.report.cells import (
    NO_RUN,
    NOTHING,
    PASSES,
    TESTS,
    adjust_tests,
    gain_cell,
    interval_cell,
    name_pairs,
    paper_cell,
    paper_gain,
    printed_gain,
    score_cell,
    speed_cell,
    task_cell,
    test_cell,
    text,
)
from elmo_bench.report.comparison import Seeds, pair_seeds
from elmo_bench.report.ensembles import NO_ENSEMBLE, ensemble_cell, ensemble_command
from elmo_bench.report.inputs import UNUSED, ReportInputs, ShownTask
from elmo_bench.report.model import Cell, Section, Table
from elmo_bench.report.paper import Path, lookup
from elmo_bench.report.published import Block, Sheet, TaskRuns, Wanted
from elmo_bench.types import UsageError

COLUMNS = ("Task", "System", "Here", "Gain", "95 % interval", "Paper", "Paper's gain", TESTS, PASSES)
OF_THE_BLOCK = ("own", "tuned")  # encoders of rows that name no other
UNTESTED = (NOTHING, NOTHING, NOTHING, NOTHING)  # gain, interval, tests and speed of a row without a baseline


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
    """One table per source, size and encoder; without any run, the paper's numbers and the commands."""
    sheets = [sheet for sheet in _sheets_of(scored, inputs) if _has_main_row(scored, sheet, inputs)]
    tables = [build_table(scored, sheet, inputs) for sheet in sheets]
    shown = [table for table in tables if table.rows] or [build_table(scored, UNUSED, inputs)]
    title, about = scored.table.title, scored.table.about
    return Section(scored.name, title, about, tuple(shown), is_aside=scored.table.aside)


def _has_main_row(scored: Scored, sheet: Sheet, inputs: ReportInputs) -> bool:
    """Whether a task has runs of the row that the table is about; runs of other rows are in other tables."""
    main = scored.table.main_row
    parts = _parts_of(scored, sheet, inputs) if main else ()
    return not main or any(seeds for part in parts for row, seeds in part.found if row.label == main)


def _sheets_of(scored: Scored, inputs: ReportInputs) -> list[Sheet]:
    """The sheets that have a table of their own.

    A fine-tuned encoder is a row of the table of the encoder that it was. An encoder that a row names is that
    row of every other encoder's table; if no other has been run, the table has no encoder of its own.
    """
    named = {row.encoder for rows in scored.rows.values() for row in rows}
    sheets = inputs.sheets(scored.rows)
    own = [sheet for sheet in sheets if sheet.encoder not in named]
    served = {(sheet.source, sheet.size) for sheet in own}
    lonely = [
        Sheet(sheet.source, sheet.size)
        for sheet in sheets
        if sheet.encoder in named and (sheet.source, sheet.size) not in served
    ]
    return [*own, *dict.fromkeys(lonely)]


@dataclass(frozen=True)
class TaskRows:
    """The rows of one task on one corpus, with their runs."""

    task: ShownTask
    block: Block
    runs: TaskRuns
    found: tuple[tuple[Row, Seeds], ...]


def build_table(scored: Scored, sheet: Sheet, inputs: ReportInputs) -> Table:
    """The rows of every task, whatever corpora a source has for them."""
    parts = list(_parts_of(scored, sheet, inputs))
    corpora = {part.block.corpus for part in parts}
    rows: list[tuple[Cell, ...]] = []
    missing: list[tuple[ShownTask, str]] = []
    ensembles: list[str] = []  # commands
    notes = notes_of(sheet.source, sheet.size)
    for part in parts:
        heading = task_cell(part.task, part.block.corpus if len(corpora) > 1 else "")
        built = [
            (heading, *build_row(scored.table, part.task, row, seeds, part.runs, inputs))
            for row, seeds in part.found
        ]
        rows += built
        notes += _facts_of_rows(part)
        if part.runs.fraction != 1:
            share = f"{100 * part.runs.fraction:g} % of its train split (size {sheet.size})"
            notes.append(f"{part.task.title}: trained on {share}.")
        if any(NO_RUN in cells for cells in built):
            missing.append((part.task, part.block.corpus))
        for (_, seeds), cells in zip(part.found, built, strict=True):
            if NO_ENSEMBLE in cells:
                ensembles += ensemble_command(part.task.name, seeds)
    described = describe_sheet(sheet, corpora)
    return Table(
        name=scored.name,
        block=described,
        caption=caption_of(scored.table.title, scored.table.split, described),
        columns=COLUMNS,
        rows=adjust_tests(COLUMNS, rows),
        notes=tuple(notes),
        commands=(*commands_for(scored.experiment, missing, sheet, inputs.sizes), *ensembles),
        place=inputs.place(sheet, parts[0].task.title if len(scored.rows) == 1 and parts else ""),
    )


def _parts_of(scored: Scored, sheet: Sheet, inputs: ReportInputs) -> Iterator[TaskRows]:
    """What a table shows of every task; of a further encoder, only what adds to the table of encoders."""
    is_first = inputs.published.is_first(sheet)
    for name, wanted in scored.rows.items():
        task = inputs.tasks[name]
        for corpus in inputs.corpora(sheet, task):
            block = sheet.on(corpus)
            found = [
                (row, inputs.of_encoder(block, task, row.encoder).find(row.wanted) if row.wanted else {})
                for row in wanted
            ]
            if is_first or _adds_to_encoders(found):
                # A row of another encoder is there for the paper's number or for runs.
                kept = [
                    (row, seeds) for row, seeds in found if seeds or row.paper or row.encoder in OF_THE_BLOCK
                ]
                yield TaskRows(task, block, inputs.of_task(block, task), tuple(kept))


def _adds_to_encoders(found: Sequence[tuple[Row, Seeds]]) -> bool:
    """Whether an encoder has runs of a row; in a table of several conditions, of a row beside another one.

    One condition out of several stands in the table of encoders already.
    """
    gains = [(row.encoder in OF_THE_BLOCK, seeds) for row, seeds in found if row.against]
    own = [seeds for is_own, seeds in gains if is_own]
    return any(own) and sum(bool(seeds) for _, seeds in gains) >= min(len(own), 2)


def _facts_of_rows(part: TaskRows) -> Iterator[str]:
    """What must be known of a task's rows; those with settings of their own are named."""
    settings = [(row, seeds) for row, seeds in part.found if row.wanted]
    usual = [run for row, seeds in settings if not _settings(row) for run in seeds.values()]
    others = {row.label: seeds.values() for row, seeds in settings if _settings(row)}
    yield from facts_of(part.task, part.block, usual, others)


def _settings(row: Row) -> Mapping[str, object]:
    return row.wanted.settings if row.wanted else {}


def build_row(
    table: TableConfig, task: ShownTask, row: Row, seeds: Seeds, runs: TaskRuns, inputs: ReportInputs
) -> tuple[Cell, ...]:
    """One system: our score and gain, the paper's, and how sure ours is."""
    label, theirs = text(row.label), _paper_cells(row)
    if row.wanted is None:
        return (label, NOTHING, NOTHING, NOTHING, *theirs, NOTHING, NOTHING)
    if row.is_ensemble:
        return (label, ensemble_cell(table, seeds, inputs), NOTHING, NOTHING, *theirs, NOTHING, NOTHING)
    if not seeds:  # the table's command makes the runs of its own encoder
        empty = NO_RUN if row.encoder in OF_THE_BLOCK else NOTHING
        return (label, empty, NOTHING, NOTHING, *theirs, NOTHING, NOTHING)
    inputs.show(task, seeds)
    gain, interval, tests, speed = UNTESTED
    if row.against:
        metric = next(iter(seeds.values())).record.metric
        before = runs.baseline(seeds, row.against, row.wanted.settings)
        gain, interval, tests, speed = compare_cells(inputs, before, seeds, table.split, metric)
    score = score_cell(list(seeds.values()), table.split, table.statistics)
    return (label, score, gain, interval, *theirs, tests, speed)


def _paper_cells(row: Row) -> tuple[Cell, Cell]:
    """The paper's number and gain."""
    printed = lookup(*row.paper) if row.paper else None
    gained = NOTHING
    if row.paper_gain:
        gained = printed_gain(lookup(*row.paper_gain))
    elif printed and row.paper_against:
        gained = paper_gain(printed, lookup(*row.paper_against))
    return paper_cell(printed) if printed else NOTHING, gained


def compare_cells(
    inputs: ReportInputs, before: Seeds, after: Seeds, split: str, metric: str
) -> tuple[Cell, Cell, Cell, Cell]:
    """Gain, interval, tests and speed of learning over the seeds that both have."""
    found = inputs.referee.compare(before, after, split, metric)
    if found is None:
        return UNTESTED
    pairs = pair_seeds(before, after)
    names = name_pairs(pairs)
    gain, interval, tests, speed = (
        cell if cell is NOTHING else replace(cell, runs=names)
        for cell in (gain_cell(found, after), interval_cell(found), test_cell(found), speed_cell(pairs))
    )
    marks = inputs.marks_of_encoder(pairs[0][1].record)
    return replace(gain, marks=(*gain.marks, *marks)), interval, tests, speed


def commands_for(
    experiment: str, missing: Iterable[tuple[ShownTask, str]], sheet: Sheet, sizes: Collection[str]
) -> list[str]:
    """The commands that fill the empty cells of a sheet: one, and one for each corpus beside the usual."""
    tasks: dict[str, list[str]] = {}  # by the corpus that must be named
    for task, corpus in missing:
        named = "" if corpus == task.defaults.get(sheet.source) else corpus
        tasks.setdefault(named, []).append(task.name)
    return [command_for(experiment, names, sheet, sizes, corpus) for corpus, names in tasks.items()]


def command_for(
    experiment: str, tasks: Sequence[str], sheet: Sheet, sizes: Collection[str], corpus: str = ""
) -> str:
    """The command that fills the empty cells of some tasks; a size is named unless the source chooses it."""
    words = [f"+experiment={experiment}", f"task={','.join(tasks)}", f"data={sheet.source}"]
    words += [f"data.corpus={corpus}"] if corpus else []
    words += sheet.chosen_by
    if sheet.size in sizes and sheet.size != sheet.source:
        words.append(f"size={sheet.size}")
    return spell_run(words, sweep=True)
