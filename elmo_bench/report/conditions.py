"""A run's condition in a few words."""

from __future__ import annotations

from elmo_bench.records import Record


def is_baseline(record: Record) -> bool:
    return bool(record.identity["elmo"]["where"] == "none")


def describe_condition(record: Record) -> str:
    """What stands behind ELMo and how it enters."""
    elmo = record.identity["elmo"]
    if is_baseline(record):
        return "without ELMo"
    layers = {"all": "all layers", "last": "last layer"}.get(elmo["layers"], f"layer {elmo['layers']}")
    lam = f", lambda {elmo['lambda']:g}" if "lambda" in elmo else ""
    return f"ELMo ({record.encoder}) at {elmo['where']}, {layers}{lam}"
