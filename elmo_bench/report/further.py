"""The last table: every run that no other table shows, so that nothing published is dropped silently."""

from __future__ import annotations

from collections import defaultdict

from elmo_bench.conditions import describe_condition, is_baseline
from elmo_bench.records import Record
from elmo_bench.report.baseline import baseline_of, describe_share, place_of, setting_of
from elmo_bench.report.captions import caption_of, describe_sheet, facts_of, notes_of
from elmo_bench.report.cells import PASSES, TESTS, adjust_tests, score_cell, task_cell, text
from elmo_bench.report.comparison import Run, Seeds
from elmo_bench.report.differences import differing
from elmo_bench.report.inputs import ReportInputs
from elmo_bench.report.model import Cell, Section, Table
from elmo_bench.report.published import USUAL_NUMBERS, Sheet, block_of, rank_source, stored_type
from elmo_bench.report.tables import compare_cells

NAME, TITLE, SPLIT = "further", "Further runs", "test"
ABOUT = (
    "Published runs that no table above shows: tasks and conditions that the paper does not have, or other "
    "settings. The gain is over the runs that differ in ELMo alone."
)
Keys = frozenset[tuple[str, str, int]]
COLUMNS = ("Task", "Condition", "Here", "Gain", "95 % interval", TESTS, PASSES)


def build_further(inputs: ReportInputs) -> Section | None:
    """One table per block; nothing if every run is in another table."""
    shown = frozenset(inputs.shown)
    groups: dict[Sheet, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in inputs.not_shown():
        record = run.record
        groups[_sheet_of(record)][f"{record.task} {record.condition}"].append(run)
    tables = tuple(
        _table(sheet, [{run.seed: run for run in runs} for runs in conditions.values()], inputs, shown)
        for sheet, conditions in sorted(
            groups.items(), key=lambda item: (rank_source(item[0].source), item[0])
        )
    )
    return Section(NAME, TITLE, ABOUT, tables, is_aside=True) if tables else None


def _sheet_of(record: Record) -> Sheet:
    if is_baseline(record):
        return Sheet(record.source, record.size)
    block = block_of(record)
    return Sheet(block.source, block.size, block.encoder, block.fingerprint, block.chosen_by)


def _table(sheet: Sheet, conditions: list[Seeds], inputs: ReportInputs, shown: Keys) -> Table:
    by_task: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in (run for seeds in conditions for run in seeds.values()):
        by_task[run.record.task, run.record.corpus].append(run)
    corpora = {corpus for _, corpus in by_task}
    rows = [_row(seeds, inputs, shown, len(corpora) > 1) for seeds in conditions]
    rows.sort(key=lambda row: (row[0].text, row[1].text))
    facts = [
        fact
        for task, corpus in sorted(by_task)
        for fact in facts_of(inputs.tasks[task], sheet.on(corpus), by_task[task, corpus])
    ]
    described = describe_sheet(sheet, corpora)
    return Table(
        name=NAME,
        block=described,
        caption=caption_of(TITLE, SPLIT, described),
        columns=COLUMNS,
        rows=adjust_tests(COLUMNS, rows),
        notes=(*notes_of(sheet.source, sheet.size), *facts),
        place=inputs.place(sheet),
    )


def _row(seeds: Seeds, inputs: ReportInputs, shown: Keys, names_corpus: bool) -> tuple[Cell, ...]:
    record = next(iter(seeds.values())).record
    task = inputs.tasks[record.task]
    inputs.show(task, seeds)
    label = text(describe_condition(record), *_differences(record, inputs, shown))
    cells = (
        task_cell(task, record.corpus if names_corpus else ""),
        label,
        score_cell(list(seeds.values()), SPLIT),
    )
    others = inputs.published.runs
    condition = baseline_of(record, (run.record for run in others))
    baseline = {run.seed: run for run in others if run.record.condition == condition}
    return (*cells, *compare_cells(inputs, baseline, seeds, SPLIT, record.metric))


def _differences(record: Record, inputs: ReportInputs, shown: Keys) -> list[str]:
    """What sets a run apart in addition to ELMo: its data, its word vectors, its settings."""
    lines = describe_share(record)
    if not is_baseline(record) and (stored := stored_type(record)) != USUAL_NUMBERS:
        lines.append(f"layers stored as {stored}")
    words = record.identity["words"]
    lines.append("no word vectors" if words["kind"] == "none" else f"{words['kind']} word vectors")
    usual = [
        run.record
        for run in inputs.published.runs
        if run.key in shown
        and run.record.task == record.task
        and place_of(run.record) == place_of(record)
        and run.record.condition != record.condition
    ]
    if usual and setting_of(record) not in {setting_of(other) for other in usual}:
        nearest = min(usual, key=lambda other: len(list(differing(other.identity, record.identity))))
        lines.append(f"other settings: {'; '.join(differing(nearest.identity, record.identity))}")
    return lines
