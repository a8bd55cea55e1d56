"""The numbers of the paper, each with whether it was read in the paper itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class PaperNumber:
    """One printed number; unverified ones are from memory or from a second-hand source."""

    value: float | None  # None where the paper prints a dash
    verified: bool
    deviation: float | None = None
    system: str = ""  # whose number it is


@cache
def paper() -> dict[str, Any]:
    """The whole file, as it is packaged."""
    content: dict[str, Any] = json.loads((files(__package__) / "paper_results.json").read_text("utf-8"))
    return content


def lookup(*path: str) -> Any:
    """What lies at a path of the file."""
    place = paper()
    for key in path:
        place = place[key]
    return place


def number(*path: str) -> PaperNumber:
    """One number of the file."""
    entry = lookup(*path)
    return PaperNumber(entry["value"], entry["verified"], entry.get("std"), entry.get("system", ""))
