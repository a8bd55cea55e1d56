"""From published records to the paper's tables, with our numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from elmo_bench.records import Record
from elmo_bench.report.cells import (
    NO_RUN,
    NOTHING,
    gain_cell,
    interval_cell,
    paper_cell,
    paper_gain,
    printed_gain,
    score_lines,
    test_cell,
    text,
)
from elmo_bench.report.comparison import Referee, Run, Seeds
from elmo_bench.report.layout import Layout, Part, Row
from elmo_bench.report.library import GENERATED, Block, Library, Shelf, commits_of, differing
from elmo_bench.report.model import Cell, Section, Table
from elmo_bench.report.paper import lookup

COLUMNS = ("Task", "System", "Paper", "Paper's gain", "Here", "Gain", "95 % interval", "p")
UNUSED = Block(GENERATED, "world", GENERATED)  # what a fresh machine would fill first


@dataclass
class Desk:
    """What tables and figures are made from, and the warnings met on the way."""

    library: Library
    referee: Referee
    corpora: Mapping[str, Mapping[str, frozenset[str]]]  # by task and source
    warnings: list[str] = field(default_factory=list)

    def warn(self, warning: str) -> None:
        """Keep a warning once."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    def blocks(self, tasks: Sequence[str]) -> list[Block]:
        """The blocks that hold runs of any of some tasks."""
        return [
            block for block in self.library.blocks() if any(self.shelf(block, task).runs for task in tasks)
        ]

    def shelf(self, block: Block, task: str) -> Shelf:
        return self.library.shelf(block, task)

    def lists(self, block: Block, part: Part, shelf: Shelf) -> bool:
        """Whether a block has rows for a task.

        Of a corpus's first encoder wherever the task can be run on it; of a further one, such as a control,
        only where it has been.
        """
        if block == UNUSED:
            return True
        gained = any(row.wanted and row.against and shelf.find(row.wanted) for row in part.rows)
        first = self.library.first_encoder(block) == block
        return gained or (first and block.corpus in self.corpora.get(part.task, {}).get(block.source, ()))

    def check(self, task: str, seeds: Seeds) -> None:
        """Warn of numbers that one cannot go back to, or that different versions of the code made."""
        runs = list(seeds.values())
        if not runs:
            return
        name = f"{task}, condition {runs[0].record.condition}"
        if len(commits := commits_of(runs)) > 1:
            self.warn(f"{name}: the cell mixes runs of the commits {', '.join(commits)}")
        if dirty := [run.seed for run in runs if run.record.environment.get("dirty")]:
            numbers = ", ".join(map(str, sorted(dirty)))
            self.warn(f"{name}: from a tree with changes that no commit has (seeds {numbers})")

    def check_settings(self, block: Block, task: str) -> None:
        """Say which runs no cell shows, and why."""
        shelf = self.shelf(block, task)
        left = {record.condition: record for record in shelf.left_out()}
        kept = [run.record for run in shelf.runs if run.record.condition not in left]
        for condition, record in sorted(left.items()):
            ours = min(kept, key=lambda other: len(list(differing(other.identity, record.identity))))
            what = "; ".join(differing(ours.identity, record.identity))
            self.warn(
                f"{task} on {block.corpus}, condition {condition} is in no table: other settings ({what})"
            )


def build_section(layout: Layout, desk: Desk) -> Section:
    """One table per block; without any run, the paper's numbers and the commands."""
    tasks = [part.task for part in layout.parts]
    tables = [build_table(layout, block, desk) for block in desk.blocks(tasks)]
    shown = [table for table in tables if table.rows] or [build_table(layout, UNUSED, desk)]
    return Section(layout.name, layout.title, layout.about, tuple(shown))


def build_table(layout: Layout, block: Block, desk: Desk) -> Table:
    """The rows of the tasks that a block has a corpus for."""
    rows: list[tuple[Cell, ...]] = []
    missing: list[str] = []
    notes = notes_of(block)
    for part in layout.parts:
        shelf = desk.shelf(block, part.task)
        if not desk.lists(block, part, shelf):
            continue
        desk.check_settings(block, part.task)
        built = [build_row(layout, part, row, shelf, desk) for row in part.rows]
        rows += built
        if shelf.fraction != 1:
            notes.append(
                f"{part.title}: trained on {100 * shelf.fraction:g} % of its train split (size {block.size})."
            )
        if any(NO_RUN in cells for cells in built):
            missing.append(part.task)
    commands = (command_for(layout.experiment, missing, block),) if missing else ()
    return Table(
        name=layout.name,
        block=describe_block(block),
        caption=caption_of(layout.title, layout.split, block),
        columns=COLUMNS,
        rows=tuple(rows),
        notes=tuple(notes),
        commands=commands,
    )


def build_row(layout: Layout, part: Part, row: Row, shelf: Shelf, desk: Desk) -> tuple[Cell, ...]:
    """One system: the paper's number and gain, ours, and how sure ours is."""
    printed = lookup(*row.paper) if row.paper else None
    theirs = paper_cell(printed) if printed else NOTHING
    gained = NOTHING
    if row.paper_gain:
        gained = printed_gain(lookup(*row.paper_gain))
    elif printed and row.paper_against:
        gained = paper_gain(printed, lookup(*row.paper_against))
    heading = (text(part.title), text(row.label), theirs, gained)
    if row.wanted is None:
        return (*heading, NOTHING, NOTHING, NOTHING, NOTHING)
    seeds = shelf.find(row.wanted)
    if not seeds:
        return (*heading, NO_RUN, NOTHING, NOTHING, NOTHING)
    desk.check(part.task, seeds)
    metric = next(iter(seeds.values())).record.metric
    cells = (*heading, score_cell(list(seeds.values()), layout))
    found = None
    if row.against:
        baseline = shelf.baseline(seeds, row.against)
        found = desk.referee.compare(baseline, seeds, layout.split, metric)
    if found is None:
        return (*cells, NOTHING, NOTHING, NOTHING)
    return (*cells, gain_cell(found), interval_cell(found), test_cell(found))


def score_cell(runs: Sequence[Run], layout: Layout) -> Cell:
    """Mean ± standard deviation over n seeds."""
    records: list[Record] = [run.record for run in runs]
    known = records[0].scores[layout.split]
    statistics = [(label, name) for label, name in layout.statistics if name in known]
    statistics = statistics or [("", records[0].metric)]
    lines: list[str] = []
    for label, name in statistics:
        lines += score_lines([record.scores[layout.split][name] for record in records], label)
    values = [record.scores[layout.split][records[0].metric] for record in records]
    return Cell((*lines, f"n = {len(runs)}"), "score", sum(values) / len(values))


def describe_block(block: Block) -> str:
    """Source, corpus, size and encoder in words."""
    encoder = f"encoder {block.encoder} ({block.fingerprint[:8]})" if block.encoder else "no encoder yet"
    source = f"source {block.source}" + (" (generated world)" if block.source == GENERATED else "")
    return f"{source}, corpus {block.corpus}, size {block.size}, {encoder}"


def caption_of(title: str, split: str, block: Block) -> str:
    return f"{title} · {split} · {describe_block(block)}"


def notes_of(block: Block) -> list[str]:
    """What a reader must know before comparing with the paper."""
    if block.source == GENERATED:
        return [
            "Generated world: the text is written by this project's own grammar. These numbers show what the "
            "instrument measures; they say nothing about English and are not to be compared with the paper's."
        ]
    if block.source != "paper" or block.size != "paper":
        return ["Other data or smaller settings than the paper's: compare gains, not levels."]
    return []


def command_for(experiment: str, tasks: Sequence[str], block: Block) -> str:
    """What fills the empty cells of a block."""
    words = [f"python run.py -m +experiment={experiment} task={','.join(tasks)} data={block.source}"]
    if block.source != GENERATED:
        words.append(f"data.corpus={block.corpus}")
    if block.encoder:
        words.append(f"encoder={block.encoder}")
    if block.size == "paper" and block.source != "paper":
        words.append("size=paper")
    return " ".join(words)
