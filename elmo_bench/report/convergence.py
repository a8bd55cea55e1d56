"""Whether a run was trained until dev stopped improving, and after how many updates it passes another run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any

from elmo_bench.records import Record

MARK = "not converged"  # what a table or a line says next to a score of such a run
SIGN = "‡"  # what a figure has in its place, and explains in its caption


@dataclass(frozen=True)
class Passing:
    """The updates of a baseline's best evaluation, and those after which another run was better."""

    baseline: float
    passed: float | None  # none where the run never was
    total: float  # updates of that run
    counted: bool  # by the runs themselves; else estimated from epochs and batch size


def met_cap(record: Record) -> bool:
    """Whether training ended at its cap on epochs, before patience ended it.

    Records from before the field `stopped` are judged by their curve: it has as many epochs as the cap, and
    patience had not run out in the last of them.
    """
    if record.stopped is not None:
        return record.stopped == "cap"
    training = _training(record)
    if not record.curve or is_one_pass(record) or "epochs" not in training:
        return False
    waited = sum(row["epoch"] > (record.best_epoch or 0) for row in record.curve)
    return bool(len(record.curve) >= training["epochs"] and waited < training["patience"])


def is_one_pass(record: Record) -> bool:
    """Whether the head is fitted in one pass, without chance; such curves have no loss."""
    if record.stopped is not None:
        return record.stopped == "one pass"
    return bool(record.curve) and all("loss" not in row for row in record.curve)


def spell_capped(records: Iterable[Record]) -> str:
    """The mark of a mean over seeds, or nothing where all runs have converged."""
    capped = [met_cap(record) for record in records]
    if not any(capped):
        return ""
    return MARK if all(capped) else f"{MARK} ({sum(capped)} of {len(capped)})"


def passing_of(before: Record, after: Record) -> Passing:
    """When a run passed the best dev score that its baseline ever had."""
    best = max(before.curve, key=lambda row: row["dev"], default={"epoch": 0.0, "dev": float("-inf")})
    row = next((row for row in after.curve if row["dev"] > best["dev"]), None)
    last = after.curve[-1] if after.curve else {"epoch": 0.0}
    return Passing(
        baseline=_updates(before, best),
        passed=None if row is None else _updates(after, row),
        total=_updates(after, last),
        counted=_counted(before) and _counted(after),
    )


@dataclass(frozen=True)
class Speed:
    """When several runs passed the best dev score of their baselines: medians, in updates."""

    passed: float | None  # of the runs that did
    never: int  # runs that did not
    count: int
    baseline: float
    counted: bool


def speed_of(pairs: Iterable[tuple[Record, Record]]) -> Speed | None:
    """The speed of learning of runs against their baselines; heads fitted in one pass have none."""
    passings = [
        passing_of(before, after)
        for before, after in pairs
        if all(record.curve and not is_one_pass(record) for record in (before, after))
    ]
    if not passings:
        return None
    passed = [one.passed for one in passings if one.passed is not None]
    return Speed(
        passed=median(passed) if passed else None,
        never=len(passings) - len(passed),
        count=len(passings),
        baseline=median(one.baseline for one in passings),
        counted=all(one.counted for one in passings),
    )


def _updates(record: Record, row: Mapping[str, float]) -> float:
    """The updates made when a row of the curve was measured."""
    if "step" in row:
        return row["step"]
    if record.updates is not None and record.curve:
        return row["epoch"] * record.updates / record.curve[-1]["epoch"]
    batch = int(_training(record).get("batch_size", 1))
    return row["epoch"] * ceil(record.examples.get("train", 1) / batch)


def _counted(record: Record) -> bool:
    return record.updates is not None or any("step" in row for row in record.curve)


def _training(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = record.config.get("task", {}).get("training", {})
    return found
