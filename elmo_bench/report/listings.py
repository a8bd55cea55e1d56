"""Tables of the paper that are not scores of tasks: nearest neighbours and perplexities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elmo_bench.records import Context, NeighboursRecord, PerplexityRecord
from elmo_bench.report.cells import NO_RUN, NOTHING, text
from elmo_bench.report.library import Library
from elmo_bench.report.model import Cell, Section, Table
from elmo_bench.report.paper import lookup
from elmo_bench.report.perplexities import describe_schedule

PERPLEXITIES = "table7_arxiv_dev_perplexity"
SHOWN = 3  # of the nearest contexts; the record has more
TEXTS = {  # the paper's row, our task, and the streams of its text where a row has some of them
    "SNLI": ("snli", ()),
    "CoNLL-2012 (coref/SRL)": ("srl", ()),
    "CoNLL-2003 (NER)": ("ner", ()),
    "SQuAD context": ("squad", ("context",)),
    "SQuAD questions": ("squad", ("question",)),
    "SST": ("sst5", ()),
}


def neighbours(library: Library) -> Section:
    """Table 4: the paper's neighbours of `play`, and ours."""
    title = "Table 4: nearest neighbours"
    entries = lookup("tables", "table4_nearest_neighbours")
    words = ", ".join(entries["GloVe/play"]["value"])
    rows = [(text("paper, GloVe"), text("play"), Cell((words,), "paper"))]
    for key in ("biLM/1", "biLM/2"):
        source, found = (entries[key][side]["value"] for side in ("source", "neighbour"))
        rows.append((text("paper, biLM"), text(source), Cell((found,), "paper")))
    ours = [row for record in library.neighbours for row in _neighbour_rows(record)]
    rows += ours
    commands = () if ours else ("python -m elmo_bench neighbours play --help",)
    if not ours:
        rows.append((text("here"), text("play"), NO_RUN))
    table = Table(
        "table4",
        "as named in each row",
        title,
        ("Encoder", "Source", "Nearest neighbours"),
        tuple(rows),
        (),
        commands,
    )
    about = "A static vector has one list of neighbours; a token in context has neighbours of its own sense."
    return Section("table4", title, about, (table,))


def _neighbour_rows(record: NeighboursRecord) -> list[tuple[Cell, Cell, Cell]]:
    """The word's static neighbours, and one row per context that was asked about."""
    rows = []
    if record.static:
        words = ", ".join(word for word, _ in record.static)
        rows.append((text(f"here, {record.vectors}"), text(record.word), Cell((words,), "score")))
    encoder = text(f"here, {record.encoder}, layer {record.layer}", f"on {record.corpus}")
    for context in record.contexts:
        nearest = tuple(_in_words(one) for one in context.nearest[:SHOWN])
        rows.append((encoder, text(_in_words(context.query)), Cell(nearest, "score")))
    return rows


def _in_words(context: Context) -> str:
    """A sentence with the word that is meant in brackets."""
    words = list(context.sentence)
    words[context.position] = f"[{words[context.position]}]"
    return " ".join(words)


def perplexities(library: Library) -> Section:
    """Table 7 of the preprint: before and after fine-tuning, one block per task corpus and encoder."""
    title = "Table 7 (preprint): perplexity before and after fine-tuning"
    rows: list[tuple[Cell, ...]] = []
    missing = []
    for label, (task, streams) in TEXTS.items():
        printed = lookup("tables", PERPLEXITIES, label)
        theirs = tuple(_paper_perplexity(printed[when]) for when in ("before", "after"))
        ours = [row for record in library.perplexities for row in _perplexity_rows(record, task, streams)]
        if not ours:
            rows.append((text(label), *theirs, text("–"), NO_RUN, NO_RUN))
            missing.append(task)
        rows += [(text(label), *theirs, *row) for row in ours]
    tasks = ",".join(dict.fromkeys(missing))
    commands = (f"python run.py -m +experiment=table7_perplexity task={tasks}",) if missing else ()
    columns = (
        "Dev text",
        "Paper, before",
        "Paper, after",
        "Model, source, corpus, stream",
        "Before",
        "After",
    )
    notes = (
        "Perplexities over different vocabularies, texts or tokenisations cannot be compared with each "
        "other.",
    )
    table = Table("table7_perplexity", "as named in each row", title, columns, tuple(rows), notes, commands)
    about = (
        "The average of forward and backward perplexity on a task's dev text, before and after one epoch of "
        "the language model's objective on its training text."
    )
    return Section("table7_perplexity", title, about, (table,))


def _paper_perplexity(entry: Mapping[str, Any]) -> Cell:
    return NOTHING if entry["value"] is None else Cell((f"{entry['value']:g}",), "paper", entry["value"])


def _perplexity_rows(
    record: PerplexityRecord, task: str, streams: tuple[str, ...]
) -> list[tuple[Cell, Cell, Cell]]:
    tuned = record.finetuned
    rows = []
    for stream, measured in record.streams.items():
        if tuned.task == task and (not streams or stream in streams):
            names = (tuned.encoder, tuned.source, tuned.corpus, stream, describe_schedule(record))
            cells = [one.average for one in (measured.before, measured.after)]
            before, after = (Cell((f"{value:.2f}",), "score", value) for value in cells)
            rows.append((text(", ".join(filter(None, names))), before, after))
    return rows
