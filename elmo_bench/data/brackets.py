"""Labelled spans written as brackets around a star, one column per proposition: `(ARG0*`, `*`, `*)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.data.lines import fault, shown
from elmo_bench.data.tags import Chunk

# CoNLL-2004 repeats the label at the closing bracket: `*A1)`.
FIELD = re.compile(r"((?:\([^()*]+)*)\*((?:[^()*]*\))*)")


@dataclass(frozen=True)
class Proposition:
    """A predicate and its phrases, outer before inner, with C- and R- labels unchanged."""

    predicate: int  # its index in the sentence
    lemma: str
    phrases: tuple[Chunk, ...]


def parse_brackets(path: Path, first_line: int, column: Sequence[str]) -> tuple[Chunk, ...]:
    """The phrases of one column, whose fields stand on consecutive lines of a file."""
    opened: list[tuple[str, int, int]] = []  # label, index of the token, rank in the order of opening
    phrases: dict[int, Chunk] = {}
    count = 0
    for position, field in enumerate(column):
        if field == "*":  # nearly every field
            continue
        match = FIELD.fullmatch(field)
        if not match:
            raise fault(
                path, first_line + position, "brackets around a star, as in (ARG0* or *)", shown(field)
            )
        for label in match[1].split("(")[1:]:
            opened.append((label, position, count))
            count += 1
        for closing in match[2].split(")")[:-1]:
            if not opened or closing not in ("", opened[-1][0]):
                expected = f"the end of {opened[-1][0]}" if opened else "no end, as no phrase is open"
                raise fault(path, first_line + position, expected, shown(field))
            label, start, place = opened.pop()
            phrases[place] = Chunk(label, start, position + 1)
    if opened:
        label, start, _ = opened[-1]
        raise fault(path, first_line + start, f"({label}* to be closed in its sentence", "no closing bracket")
    return tuple(phrases[place] for place in range(count))
