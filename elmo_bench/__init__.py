"""Measure the gain of a contextual word representation on downstream tasks."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if os.name != "posix":  # locks, alarms and the links to conf and tasks are those of POSIX
    raise ImportError("elmo_bench runs on Linux and macOS; on Windows, install it in WSL (wsl --install)")

if TYPE_CHECKING:
    from elmo_bench.data.tokens import tokenise
    from elmo_bench.elmo import Elmo, FrozenEncoder
    from elmo_bench.loading import load_encoder
    from elmo_bench.results import Results, compare, load_results, run

__all__ = ["Elmo", "FrozenEncoder", "Results", "compare", "load_encoder", "load_results", "run", "tokenise"]
__version__ = "0.1.0"

_HOMES = {
    "Elmo": "elmo_bench.elmo",
    "FrozenEncoder": "elmo_bench.elmo",
    "Results": "elmo_bench.results",
    "compare": "elmo_bench.results",
    "load_encoder": "elmo_bench.loading",
    "load_results": "elmo_bench.results",
    "run": "elmo_bench.results",
    "tokenise": "elmo_bench.data.tokens",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that other parts of the package do not load PyTorch."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
