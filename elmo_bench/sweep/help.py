"""The help of run.py and pretrain.py."""

from __future__ import annotations

from elmo_bench.catalog import list_choices
from elmo_bench.directories import directories

LAUNCHER = "hydra/launcher"


def describe_usage(usage: str) -> str:
    """How to use the script, and the choices of every group of every directory."""
    groups = sorted({path.parent.name for root in directories() for path in root.glob("*/*.yaml")})
    lines = [f"  {group:14} {' '.join(sorted(list_choices(group)))}" for group in [*groups, LAUNCHER]]
    return "\n".join([usage.strip(), "", *lines])
