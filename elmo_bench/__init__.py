"""What a contextual word representation is worth on a downstream task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmo_bench.elmo import Elmo

__all__ = ["Elmo"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Offer `Elmo` without loading PyTorch for those who want something else of the package."""
    if name == "Elmo":
        from elmo_bench.elmo import Elmo

        return Elmo
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
