"""Word lists written as running text, so that the tables of the world stay readable."""

from __future__ import annotations


def listed(text: str) -> tuple[str, ...]:
    """The words of a text, in order."""
    return tuple(text.split())
