"""What stands above and below a table or a figure: its caption, and what to know before comparing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from elmo_bench.conditions import describe_notes, fill_in
from elmo_bench.records import Record
from elmo_bench.report.comparison import Run
from elmo_bench.report.inputs import ShownTask
from elmo_bench.report.published import GENERATED, Block, Sheet


def describe_sheet(sheet: Sheet, corpora: Iterable[str] = ()) -> str:
    """Source, size and encoder in words, and the corpus where there is one alone."""
    encoder = f"encoder {sheet.encoder} ({sheet.fingerprint[:8]})" if sheet.encoder else "no encoder yet"
    source = f"source {sheet.source}" + (" (generated world)" if sheet.source == GENERATED else "")
    named = sorted(set(corpora))
    corpus = [f"corpus {named[0]}"] if len(named) == 1 else []
    return ", ".join([source, *corpus, f"size {sheet.size}", encoder])


def caption_of(title: str, split: str, described: str) -> str:
    """The caption of a table or figure."""
    return f"{title} · {split} · {described}"


def facts_of(
    task: ShownTask, block: Block, runs: Iterable[Run], others: Mapping[str, Iterable[Run]] | None = None
) -> Iterator[str]:
    """What must be known of a task: of its corpus, and of the settings of its runs.

    `others` are the runs of rows with settings of their own, by label: only what differs is said of them.
    """
    usual = _distinct(runs, task) or [task.notes.get((block.source, block.corpus), "")]
    if any(usual):
        yield f"{task.title} ({block.corpus}): {'; '.join(filter(None, usual))}"
    for label, own in (others or {}).items():
        if further := [note for note in _distinct(own, task) if note not in usual]:
            yield f"{label}: {'; '.join(further)}"


def _distinct(runs: Iterable[Run], task: ShownTask) -> list[str]:
    return list(dict.fromkeys(note for run in runs for note in notes_of_record(run.record, task)))


def notes_of_record(record: Record, task: ShownTask) -> list[str]:
    """The notes of a run, as its task describes corpus and settings today, so that a correction reaches all.

    A record keeps its own for a report on a machine that does not have the task.
    """
    if record.notes is not None and (record.source, record.corpus) not in task.notes:
        return record.notes
    settings = fill_in(record.config.get("task", {}).get("settings", {}), task.as_before)
    return describe_notes(settings, task.captions, task.notes.get((record.source, record.corpus), ""))


def notes_of(source: str, size: str) -> list[str]:
    """What a reader must know before comparing with the paper."""
    if source == GENERATED:
        return [
            "Generated world: the text is written by this project's own grammar. These numbers show what the "
            "instrument measures; they say nothing about English and are not to be compared with the paper's."
        ]
    if source != "paper" or size != "paper":
        return ["Other data or smaller settings than the paper's: compare gains, not levels."]
    return []
