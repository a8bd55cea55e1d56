"""Notebooks without Jupyter: their code cells, executed in one namespace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CodeCell:
    """One code cell of a notebook."""

    number: int  # among the code cells, from 1
    source: str
    executed: int | None  # the number of its execution whose output is stored


def read_notebook(path: Path) -> dict[str, Any]:
    """The notebook as its file has it."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def code_cells(path: Path) -> list[CodeCell]:
    """The code cells in order."""
    cells = [cell for cell in read_notebook(path)["cells"] if cell["cell_type"] == "code"]
    return [
        CodeCell(number, "".join(cell["source"]), cell["execution_count"])
        for number, cell in enumerate(cells, start=1)
    ]


def run_code(sources: list[str], name: str) -> dict[str, Any]:
    """Execute pieces of code one after the other; the names that they leave behind."""
    names: dict[str, Any] = {}
    for number, source in enumerate(sources, start=1):
        exec(compile(source, f"{name}, piece {number}", "exec"), names)
    return names
