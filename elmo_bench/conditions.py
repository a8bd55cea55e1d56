"""A run's condition: what of `elmo` it reads, and how tables, trackers and messages describe it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elmo_bench.config import UNTRAINED, RunConfig
from elmo_bench.records import Record

WITHOUT_ELMO = "without ELMo"
TWIN_OF_SAMPLE = "untrained"  # conf/encoder has this one by a name of its own
LAYERS = {"all": "all layers", "last": "last layer"}


def reduce_elmo(elmo: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the group `elmo` that a run reads; the baseline reads none.

    A single layer has no mix: there are no weights for lambda to regularise and no second layer that layer
    norm would bring to the same scale.
    """
    if elmo["where"] == "none":
        return {"where": "none"}
    unread = () if elmo["layers"] == "all" else ("lambda", "layer_norm")
    return {key: value for key, value in elmo.items() if key not in unread}


def is_baseline(record: Record) -> bool:
    """Whether a run has no encoder."""
    return bool(record.identity["elmo"]["where"] == "none")


def describe_condition(record: Record) -> str:
    """Which encoder a run has and how its layers enter the head."""
    return describe_elmo(record.identity["elmo"], record.encoder)


def describe_elmo(elmo: Mapping[str, Any], encoder: str | None) -> str:
    """Settings as `reduce_elmo` leaves them, in a few words."""
    if elmo["where"] == "none":
        return WITHOUT_ELMO
    layers = LAYERS.get(elmo["layers"], f"layer {elmo['layers']}")
    lam = f", lambda {elmo['lambda']:g}" if "lambda" in elmo else ""
    return f"ELMo ({encoder}) at {elmo['where']}, {layers}{lam}"


def trained_name(encoder: str) -> str:
    """The encoder that an untrained one is the twin of; any other encoder's own name."""
    return "sample" if encoder == TWIN_OF_SAMPLE else encoder.removeprefix(UNTRAINED)


def is_untrained(encoder: str) -> bool:
    """Whether a record's encoder has random weights."""
    return trained_name(encoder) != encoder


def choose_encoder(encoder: str) -> list[str]:
    """The overrides that choose the encoder of a record."""
    twin = ["encoder.untrained=true"] if is_untrained(encoder) else []
    return [f"encoder={trained_name(encoder)}", *twin]


def describe_method(config: RunConfig) -> str:
    """The condition with what tables vary besides ELMo; dashboards group the runs of all tasks by it."""
    parts = [describe_elmo(reduce_elmo(config.elmo.model_dump(by_alias=True)), config.encoder.full_name)]
    if config.words.kind == "none" and config.task.words.get("kind") != "none":
        parts.append("no word vectors")
    if config.data.fraction < 1:
        parts.append(f"fraction {config.data.fraction:g}")
    return ", ".join(parts)
