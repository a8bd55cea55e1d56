"""A run's condition: the settings of `elmo` that it reads, and its description for tables and messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from elmo_bench.config import UNTRAINED, RunConfig
from elmo_bench.records import Record

WITHOUT_ELMO = "without ELMo"
TWIN_OF_SAMPLE = "untrained"  # conf/encoder has a separate file for this one
BILMS = ("elmo_bench.encoders.bilm.", "elmo_bench.encoders.sample.")  # where the classes of biLMs are
DIGITS = 6  # of a fingerprint, next to a name
LAYERS = {"all": "all layers", "last": "last layer"}
ENCODER_LAYERS = "encoder_layers"  # in an identity: `encoder.layers`, if it is given and read
ENCODER_CONTEXT = "encoder_context"  # in an identity: `encoder.context`, if it is not a sentence


def reduce_elmo(elmo: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the group `elmo` that a run reads; the baseline reads none.

    A single layer has no mix: there are no weights for lambda to regularise, and no second layer whose scale
    layer norm would equalise. A layer that is named by its number is the same one among all and among some.
    """
    if elmo["where"] == "none":
        return {"where": "none"}
    unread: tuple[str, ...] = () if elmo["layers"] == "all" else ("lambda", "layer_norm")
    if elmo.get(ENCODER_LAYERS) is None or elmo["layers"] not in LAYERS:
        unread += (ENCODER_LAYERS,)
    if elmo.get(ENCODER_CONTEXT) is None:
        unread += (ENCODER_CONTEXT,)
    return {key: value for key, value in elmo.items() if key not in unread}


def known_elmo(config: RunConfig) -> dict[str, Any]:
    """The settings of the group `elmo`, and what is not usual about the encoder: its layers, its context."""
    kept, context = config.encoder.layers, config.encoder.context
    return {
        **config.elmo.model_dump(mode="json", by_alias=True),
        ENCODER_LAYERS: None if kept is None else sorted(set(kept)),
        ENCODER_CONTEXT: None if context == "sentence" else context,
    }


def is_baseline(record: Record) -> bool:
    """Whether a run has no encoder."""
    return bool(record.identity["elmo"]["where"] == "none")


def describe_condition(record: Record, names: Mapping[str, str] | None = None) -> str:
    """The encoder of a run, and how its layers enter the head; `names` are those of `name_encoders`."""
    name = (names or {}).get(fingerprint_of(record), record.encoder)
    return describe_elmo(record.identity["elmo"], name)


def fingerprint_of(record: Record) -> str:
    """The fingerprint of a run's encoder; empty without one."""
    return record.identity.get("encoder_fingerprint") or ""


def name_encoders(records: Iterable[Record]) -> dict[str, str]:
    """A name for the encoder of every run, by fingerprint; no two are the same."""
    return tell_apart((record.encoder or "", fingerprint_of(record)) for record in records)


def tell_apart(encoders: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names by fingerprint; encoders that share a name have the first digits of their fingerprint, too."""
    named = {fingerprint: name for name, fingerprint in encoders}
    counts = Counter(named.values())
    return {
        fingerprint: name if counts[name] == 1 else f"{name} {fingerprint[:DIGITS]}"
        for fingerprint, name in named.items()
    }


def describe_elmo(elmo: Mapping[str, Any], encoder: str | None) -> str:
    """A short description of the settings that `reduce_elmo` returns."""
    if elmo["where"] == "none":
        return WITHOUT_ELMO
    layers = LAYERS.get(elmo["layers"], f"layer {elmo['layers']}")
    if kept := elmo.get(ENCODER_LAYERS):
        names = f"layers {', '.join(map(str, kept))}"
        layers = names if elmo["layers"] == "all" else f"last of {names}"
    lam = f", lambda {elmo['lambda']:g}" if "lambda" in elmo else ""
    norm = ", layer norm" if elmo.get("layer_norm") else ""
    context = f", context {elmo[ENCODER_CONTEXT]}" if elmo.get(ENCODER_CONTEXT) else ""
    return f"ELMo ({encoder}) at {elmo['where']}, {layers}{lam}{norm}{context}"


def trained_name(encoder: str) -> str:
    """The name of the encoder whose twin an untrained encoder is; the name of any other encoder."""
    return "sample" if encoder == TWIN_OF_SAMPLE else encoder.removeprefix(UNTRAINED)


def is_untrained(encoder: str) -> bool:
    """Whether a record's encoder has random weights."""
    return trained_name(encoder) != encoder


def is_bilm(config: Mapping[str, Any] | None) -> bool:
    """Whether a record's encoder, given by its part of the configuration, is a biLM."""
    return str((config or {}).get("plugin", "")).startswith(BILMS)


def choose_encoder(encoder: str, config: Mapping[str, Any] | None = None) -> list[str]:
    """The overrides that choose the encoder of a record, from its name and its part of the configuration."""
    settings = config or {}
    twin = ["encoder.untrained=true"] if is_untrained(encoder) else []
    if key := settings.get("named_after"):
        value = str(settings[key])
        if "/" not in value:  # the last part of a directory: records keep no more of it
            value = f"DIR/{value}"
        return [f"encoder={settings['name']}", f"encoder.{key}={value}", *twin]
    return [f"encoder={trained_name(encoder)}", *twin]


def describe_method(config: RunConfig, fingerprint: str | None = None) -> str:
    """The condition with what tables vary besides ELMo; dashboards group the runs of all tasks by it.

    The fingerprint is that of the encoder before any fine-tuning, which makes one encoder per task.
    """
    encoder = " ".join(filter(None, [config.encoder.full_name, (fingerprint or "")[:DIGITS]]))
    encoder += ", fine-tuned" if config.tuning.text == "task" else ""
    parts = [describe_elmo(reduce_elmo(known_elmo(config)), encoder)]
    if config.words.kind == "none" and config.task.words.get("kind") != "none":
        parts.append("no word vectors")
    if config.data.fraction < 1:
        parts.append(f"fraction {config.data.fraction:g}")
    return ", ".join(parts)


def describe_notes(
    settings: Mapping[str, Any], captions: Mapping[str, Mapping[Any, str]], corpus_note: str
) -> list[str]:
    """What a caption says of a run: of its corpus, and of settings whose choice a reader must know."""
    values = dict(flatten(settings))
    chosen = [sentences.get(values.get(key)) for key, sentences in captions.items()]
    return [note for note in (corpus_note, *chosen) if note]


def leave_out(settings: Mapping[str, Any], as_before: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without those that have the value from before they could be chosen, group by group."""
    kept = {}
    for key, value in settings.items():
        before = as_before.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            kept[key] = leave_out(value, before)
        elif key not in as_before or value != before:
            kept[key] = value
    return kept


def fill_in(settings: Mapping[str, Any], as_before: Mapping[str, Any]) -> dict[str, Any]:
    """An older run's settings with those that it could not choose, group by group."""
    filled = {**as_before, **settings}
    for key, before in as_before.items():
        if isinstance(before, Mapping):
            filled[key] = fill_in(settings.get(key, {}), before)
    return filled


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested groups with its dotted key."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
