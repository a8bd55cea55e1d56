"""The numbers of the paper, each with whether it was read in the paper itself, or is from a second hand."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

Path = tuple[str, ...]
"""The keys that lead to a number."""


@cache
def paper() -> dict[str, Any]:
    """The whole file, as it is packaged."""
    content: dict[str, Any] = json.loads((files(__package__) / "paper_results.json").read_text("utf-8"))
    return content


def lookup(*path: str) -> Any:
    """What stands at a path of the file; a KeyError names the key that is not there."""
    found = paper()
    for key in path:
        found = found[key]
    return found
