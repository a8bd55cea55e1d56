"""In what the identities of runs differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from elmo_bench.conditions import flatten
from elmo_bench.records import Record


def differing(first: Any, second: Any, prefix: str = "") -> Iterator[str]:
    """The dotted keys in which two identities differ, with both values."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted(first.keys() | second.keys()):
            yield from differing(first.get(key), second.get(key), f"{prefix}.{key}" if prefix else key)
    elif first != second:
        yield f"{prefix} {shorten(first)} / {shorten(second)}"


def distinguish(names: Sequence[str], records: Sequence[Record]) -> list[str]:
    """The names of conditions; those that are the same get the keys in which their identities differ."""
    alike: dict[str, list[dict[str, Any]]] = defaultdict(list)
    identities = [dict(flatten(record.identity)) for record in records]
    for name, identity in zip(names, identities, strict=True):
        alike[name].append(identity)
    return [
        ", ".join([name, *_own_values(identity, alike[name])])
        for name, identity in zip(names, identities, strict=True)
    ]


def _own_values(identity: dict[str, Any], others: Sequence[dict[str, Any]]) -> Iterator[str]:
    for key, value in sorted(identity.items()):
        if value is not None and any(other.get(key) != value for other in others):
            yield f"{key}={shorten(value)}"


def shorten(value: Any) -> str:
    """A value in words; of a hash the first digits."""
    text = "none" if value is None else str(value)
    return text[:12] if len(text) == 64 else text
