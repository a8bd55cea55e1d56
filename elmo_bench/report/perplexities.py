"""How well biLMs predict the text of tasks, before and after fine-tuning (Table 7 of the preprint)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from elmo_bench.commands import spell_run
from elmo_bench.config import TableConfig
from elmo_bench.records import PerplexityFigures, PerplexityRecord, PretrainingRecord, TextPerplexity
from elmo_bench.report.cells import NO_RUN, NOTHING, text
from elmo_bench.report.inputs import ReportInputs
from elmo_bench.report.model import Cell, Section, Table
from elmo_bench.report.paper import lookup

DEFAULT = "table7_arxiv_dev_perplexity"
PRINTED_PRETRAINING = ("avg_perplexity_1B_heldout", "cnn_big_lstm_forward_perplexity")
COLUMNS = (
    "Dev text",
    "Paper, before",
    "Paper, after",
    "Model, source, corpus, stream",
    "State",
    "Before",
    "After",
)
NOTES = (
    "State, fresh: every sentence starts from a zero state, as when the encoder is used. Carried: the state "
    "is kept from sentence to sentence through the whole text, as the authors' script measures.",
    "Perplexities over different vocabularies, texts or tokenisations cannot be compared with each other.",
)
Texts = dict[str, tuple[str, tuple[str, ...]]]
"""The paper's row, or a name of ours: the task, and the streams of its text that the row is about."""


def build_perplexities(name: str, table: TableConfig, inputs: ReportInputs) -> Section:
    """One block of rows per text and model; texts without a row of the paper come last."""
    rows: list[tuple[Cell, ...]] = []
    missing = []
    printed = lookup("tables", table.paper or DEFAULT)
    records = inputs.published.perplexities
    for label, (task, streams) in list_texts(printed, inputs).items():
        entry = printed.get(label, {})
        heading = Cell((label,), task=inputs.tasks[task].title if task in inputs.tasks else "")
        theirs = tuple(_paper_perplexity(entry.get(when)) for when in ("before", "after"))
        ours = [row for record in records for row in _perplexity_rows(record, task, streams)]
        if not ours:
            rows.append((heading, *theirs, NOTHING, NOTHING, NO_RUN, NO_RUN))
            missing.append(task)
        rows += [(heading, *theirs, *row) for row in ours]
    tasks = ",".join(dict.fromkeys(missing))
    commands = (spell_run([f"+experiment={name}", f"task={tasks}"], sweep=True),) if missing else ()
    built = Table(
        name, "as named in each row", table.title, COLUMNS, tuple(rows), NOTES, commands, heads=("task",)
    )
    return Section(name, table.title, table.about, (built, build_pretraining(name, inputs)))


def build_pretraining(name: str, inputs: ReportInputs) -> Table:
    """How well pre-trained biLMs predict held-out text, below what the paper prints of its own."""
    averaged, forward = (
        Cell((f"{value:g}",), "paper", value)
        for value in (lookup("bilm", key)["value"] for key in PRINTED_PRETRAINING)
    )
    one_billion = text("1B Word Benchmark")
    rows = [
        (text("CNN-BIG-LSTM (paper)"), one_billion, NOTHING, forward, NOTHING, NOTHING),
        (text("the paper's biLM"), one_billion, text("carried"), NOTHING, NOTHING, averaged),
    ]
    for model, record in inputs.published.pretrainings.items():
        names = text(model), text(describe_corpus(record))
        rows += [(*names, *cells) for cells in _heldout_rows(record.heldout)]
    return Table(
        name=f"{name}_pretraining",
        block="as named in each row",
        caption="Perplexity of pre-trained biLMs on held-out text (section 3.4)",
        columns=("Model", "Held-out text", "State", "Forward", "Backward", "Average"),
        rows=tuple(rows),
        notes=NOTES,
        heads=("system",),
    )


def describe_corpus(record: PretrainingRecord) -> str:
    """Which text a model was measured on, and how much it was trained on."""
    files = ", ".join(record.corpus["heldout"])
    return f"{files}, {record.heldout.tokens:,} tokens ({record.corpus['tokens']:,} to learn from)"


def _heldout_rows(heldout: TextPerplexity) -> list[tuple[Cell, Cell, Cell, Cell]]:
    """State, forward, backward and average: one row for each reading of the text."""
    readings: dict[str, PerplexityFigures] = {describe_fresh(heldout): heldout}
    if heldout.carried:
        readings["carried"] = heldout.carried
    return [
        (text(state), _figure(found.forward), _figure(found.backward), _figure(found.average))
        for state, found in readings.items()
    ]


def list_texts(printed: Mapping[str, Any], inputs: ReportInputs) -> Texts:
    """The texts in the paper's order, then those of other tasks that have records."""
    described = {
        label: (task.name, streams)
        for task in inputs.tasks.values()
        for label, streams in task.paper.texts.items()
    }
    order = {label: described[label] for label in printed if label in described}
    further = {label: place for label, place in described.items() if label not in order}
    return order | further | _list_others(described, inputs)


def _list_others(described: Texts, inputs: ReportInputs) -> Texts:
    """The texts that have records and that no task's file describes."""
    measured: dict[str, set[str]] = defaultdict(set)
    for record in inputs.published.perplexities:
        measured[record.finetuned.task] |= record.streams.keys()
    for task, streams in described.values():
        measured[task] -= set(streams) or measured[task]
    titles = {name: task.title for name, task in inputs.tasks.items()}
    return {titles.get(task, task): (task, tuple(sorted(left))) for task, left in measured.items() if left}


def _paper_perplexity(entry: Mapping[str, Any] | None) -> Cell:
    if entry is None or entry["value"] is None:
        return NOTHING
    return Cell((f"{entry['value']:g}",), "paper", entry["value"])


def _perplexity_rows(
    record: PerplexityRecord, task: str, streams: tuple[str, ...]
) -> list[tuple[Cell, Cell, Cell, Cell]]:
    tuned = record.finetuned
    rows = []
    for stream, measured in record.streams.items():
        if tuned.task == task and (not streams or stream in streams):
            names = (
                tuned.encoder,
                tuned.source,
                tuned.corpus,
                stream,
                describe_schedule(record),
                describe_end(record),
            )
            heading = text(", ".join(filter(None, names)))
            rows += [(heading, *cells) for cells in _reading_rows(measured.before, measured.after)]
    return rows


def _reading_rows(before: TextPerplexity, after: TextPerplexity) -> list[tuple[Cell, Cell, Cell]]:
    """State, before and after: one row for each reading of the text that was measured."""
    rows = [(text(describe_fresh(before)), _figure(before.average), _figure(after.average))]
    if before.carried and after.carried:
        rows.append((text("carried"), _figure(before.carried.average), _figure(after.carried.average)))
    return rows


def _figure(value: float) -> Cell:
    return Cell((f"{value:.2f}",), "score", value)


def describe_fresh(measured: TextPerplexity) -> str:
    """The reading from fresh states; older records measured the openings of long sentences only."""
    return "fresh" if measured.longest is None else f"fresh, sentences cut after {measured.longest} tokens"


def summarise_perplexities(records: Sequence[PretrainingRecord | PerplexityRecord]) -> str:
    """One line per text of every model."""
    return "\n".join(line for record in records for line in _summarise(record))


def _summarise(record: PretrainingRecord | PerplexityRecord) -> list[str]:
    if isinstance(record, PretrainingRecord):
        return [f"{record.config['name']}: perplexity {record.heldout.average:.2f} on held-out text"]
    return [
        f"{record.finetuned.task} on {record.finetuned.corpus}, {stream}: perplexity "
        f"{text.before.average:.2f} before, {text.after.average:.2f} after fine-tuning of "
        f"{record.finetuned.encoder}"
        for stream, text in record.streams.items()
    ]


def describe_schedule(record: PerplexityRecord) -> str:
    """How the training differed from the paper's one epoch over the whole text; nothing where it did not."""
    epochs, steps = record.config.get("epochs"), record.config.get("steps")
    parts = [f"{record.finetuned.fraction:.0%} of the text"] if record.finetuned.fraction < 1 else []
    if record.config.get("patience"):
        return ", ".join([*parts, "until dev text stopped improving"])
    parts += [f"{steps:,} steps"] if steps else [f"{epochs:g} epochs"] if epochs not in (None, 1) else []
    return ", ".join(parts)


def describe_end(record: PerplexityRecord) -> str:
    """Which weights dev text chose; nothing where training had a fixed length."""
    if record.best_step is None:
        return ""
    capped = ", cap met" if record.stopped == "cap" else ""
    return f"weights of step {record.best_step:,}{capped}"
