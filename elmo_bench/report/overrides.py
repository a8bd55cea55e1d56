"""The overrides that make the runs of a condition, with the other settings as installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from elmo_bench.conditions import (
    ENCODER_CONTEXT,
    ENCODER_LAYERS,
    choose_encoder,
    is_baseline,
    reduce_elmo,
)
from elmo_bench.records import Record
from elmo_bench.report.baseline import prescribed_fraction, share_of
from elmo_bench.report.published import GENERATED

# What an identity has among the settings of `elmo`, and a configuration elsewhere.
ELSEWHERE = {ENCODER_LAYERS: "encoder.layers", ENCODER_CONTEXT: "encoder.context"}

NUMBERS = {("store", "dtype"): "float16", ("trainer", "precision"): "32-true"}
"""How numbers are kept and computed, by group and key, with what is usual."""


def choose_condition(record: Record, usual_corpus: str | None = None) -> list[str]:
    """The overrides that choose the task of a run, its data, ELMo and word vectors."""
    words = [f"task={record.task}", f"data={record.source}"]
    if record.source != GENERATED and record.corpus != usual_corpus:
        words.append(f"data.corpus={record.corpus}")
    if record.size not in (record.source, GENERATED):
        words.append(f"size={record.size}")
    for choose in (_choose_elmo, _choose_words, _choose_share, _choose_numbers):
        words += choose(record)
    return words


def _choose_elmo(record: Record) -> Iterator[str]:
    if is_baseline(record):
        yield "elmo=none"
        return
    known_by = record.tuned.finetuned.encoder if record.tuned else record.encoder or ""
    yield from choose_encoder(known_by, record.config.get("encoder"))
    if record.tuned:
        yield "tuning=task"
    own = record.config.get("task", {}).get("elmo", {})
    usual: dict[str, Any] = {"layers": "all", "gamma": "learned", "where": None, **own}
    known = reduce_elmo(usual)
    for key, value in record.identity["elmo"].items():
        if known.get(key, usual.get(key)) != value:
            yield f"{ELSEWHERE.get(key, f'elmo.{key}')}={_spell(value)}"


def _choose_words(record: Record) -> Iterator[str]:
    """Nothing where a run has the usual word vectors: those of its task, else those of its source."""
    kind = record.identity["words"]["kind"]
    of_source = "random" if record.source == GENERATED else "file"
    usual = record.config.get("task", {}).get("words", {}).get("kind") or of_source
    if kind != usual:
        yield f"words={'glove' if kind == 'file' else kind}"


def _choose_share(record: Record) -> Iterator[str]:
    fraction, limit = share_of(record)
    if fraction != prescribed_fraction(record):
        yield f"data.fraction={fraction:g}"
    if limit:
        yield f"data.limit={limit}"


def _choose_numbers(record: Record) -> Iterator[str]:
    for (group, key), usual in NUMBERS.items():
        value = record.identity.get(group, {}).get(key, usual)  # older records say nothing of it
        if value != usual:
            yield f"{group}.{key}={value}"


def _spell(value: Any) -> str:
    """A value as an override has it."""
    return str(value).lower() if isinstance(value, bool) else str(value).replace(" ", "")
