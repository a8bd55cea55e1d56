"""Names of tables and figures for labels and files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable


def name_apart(described: Iterable[str]) -> list[str]:
    """A name for each description; those that would have the same name are numbered."""
    counts: Counter[str] = Counter()
    names = []
    for name in map(slug, described):
        counts[name] += 1
        names.append(f"{name}-{counts[name]}" if counts[name] > 1 else name)
    return names


def slug(text: str) -> str:
    """Letters, digits and hyphens, without the words that only say what is named."""
    without = re.sub(r"\([^)]*\)|\b(source|corpus|size|encoder)\b", " ", text.lower())
    return "-".join(re.findall(r"[a-z0-9]+", without))
