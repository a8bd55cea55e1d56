"""Nearest neighbours of a word in context and as a static vector (the paper's Table 4)."""

from __future__ import annotations

from elmo_bench.commands import spell_command
from elmo_bench.conditions import tell_apart
from elmo_bench.config import TableConfig
from elmo_bench.records import Context, ContextRank, NeighboursRecord
from elmo_bench.report.cells import NO_RUN, text
from elmo_bench.report.inputs import ReportInputs
from elmo_bench.report.model import Cell, Section, Table
from elmo_bench.report.paper import lookup

DEFAULT = "table4_nearest_neighbours"
COLUMNS = ("Encoder", "Source", "Nearest neighbours")
SHOWN = 3  # of the nearest contexts; the record has more


def build_neighbours(name: str, table: TableConfig, inputs: ReportInputs) -> Section:
    """The paper's neighbours of a word, and ours."""
    entries = lookup("tables", table.paper or DEFAULT)
    words = ", ".join(entries["GloVe/play"]["value"])
    rows = [(text("paper, GloVe"), text("play"), Cell((words,), "paper"))]
    for key in ("biLM/1", "biLM/2"):
        source, found = (entries[key][side]["value"] for side in ("source", "neighbour"))
        rows.append((text("paper, biLM"), text(source), Cell((found,), "paper")))
    records = inputs.published.neighbours
    names = tell_apart((record.encoder, record.encoder_fingerprint) for record in records)
    ours = [row for record in records for row in _neighbour_rows(record, names[record.encoder_fingerprint])]
    rows += ours
    commands = () if ours else (spell_command("neighbours", ["play", "--help"]),)
    if not ours:
        rows.append((text("here"), text("play"), NO_RUN))
    built = Table(
        name, "as named in each row", table.title, COLUMNS, tuple(rows), (), commands, heads=("system",)
    )
    return Section(name, table.title, table.about, (built,))


def _neighbour_rows(record: NeighboursRecord, name: str) -> list[tuple[Cell, Cell, Cell]]:
    """The word's static neighbours, and one row per context that was asked about."""
    rows = []
    if record.static:
        words = ", ".join(word for word, _ in record.static)
        rows.append((text(f"here, {record.vectors}"), text(record.word), Cell((words,), "score")))
    encoder = text(f"here, {name}, layer {record.layer}", f"on {record.corpus}")
    for context in record.contexts:
        nearest = [_in_words(one) for one in context.nearest[:SHOWN]]
        if context.ranks:
            ranks = " and ".join(describe_rank(one, record.word) for one in context.ranks)
            nearest.append(f"the paper's neighbour is {ranks}")
        rows.append((encoder, text(_in_words(context.query)), Cell(tuple(nearest), "score")))
    return rows


def describe_rank(one: ContextRank, word: str) -> str:
    """A rank and what it is among."""
    among = {
        "any": "sentences",
        "same": f"sentences with {word}",
        "other": f"sentences with words but {word}",
    }
    return f"number {one.rank:,} of {one.total:,} {among[one.candidates]}"


def _in_words(context: Context) -> str:
    """A sentence with the word that is meant in brackets."""
    words = list(context.sentence)
    words[context.position] = f"[{words[context.position]}]"
    return " ".join(words)
