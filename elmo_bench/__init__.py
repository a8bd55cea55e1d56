"""Measure the gain of a contextual word representation on downstream tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmo_bench.elmo import Elmo

__all__ = ["Elmo"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import `Elmo` on first use, so that other parts of the package do not load PyTorch."""
    if name == "Elmo":
        from elmo_bench.elmo import Elmo

        return Elmo
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
