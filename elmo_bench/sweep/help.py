"""The help of run.py and pretrain.py."""

from __future__ import annotations

from collections.abc import Mapping

from elmo_bench.catalog import list_choices


def describe_usage(usage: str, groups: Mapping[str, str]) -> str:
    """How to use a script, and what its groups offer; groups are directories of conf by their key."""
    lines = [f"  {key:14} {' '.join(sorted(list_choices(group)))}" for key, group in groups.items()]
    return "\n".join([usage.strip(), "", *lines])
