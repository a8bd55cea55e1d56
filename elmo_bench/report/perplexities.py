"""How well biLMs predict the words of tasks, before and after they were trained on with a task's text."""

from __future__ import annotations

from collections.abc import Sequence

from elmo_bench.records import PerplexityRecord


def summarise_perplexities(records: Sequence[PerplexityRecord]) -> str:
    """One line per dev text of every model."""
    return "\n".join(
        f"{record.finetuned.task} on {record.finetuned.corpus}, {stream}: perplexity "
        f"{text.before.average:.2f} before, {text.after.average:.2f} after fine-tuning of "
        f"{record.finetuned.encoder}"
        for record in records
        for stream, text in record.streams.items()
    )


def describe_schedule(record: PerplexityRecord) -> str:
    """How the training differed from the paper's one epoch over the whole text; nothing where it did not."""
    epochs, steps = record.config.get("epochs"), record.config.get("steps")
    parts = [f"{record.finetuned.fraction:.0%} of the text"] if record.finetuned.fraction < 1 else []
    parts += [f"{record.finetuned.limit:,} examples"] if record.finetuned.limit else []
    parts += [f"{steps:,} steps"] if steps else [f"{epochs:g} epochs"] if epochs not in (None, 1) else []
    return ", ".join(parts)
