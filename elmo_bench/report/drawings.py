"""The drawings of a page: what several of them have in common, such as a grid, is written once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from markupsafe import Markup

from elmo_bench.hashing import hash_value
from elmo_bench.report.model import Report

SHORT = 30  # letters of an element that is no longer than the reference to it


class SharedParts:
    """The elements that drawings share, and drawings that refer to them; a line of our SVG is one element."""

    def __init__(self, drawings: Iterable[str]) -> None:
        counts = Counter(part for drawing in drawings for part in drawing.splitlines()[1:-1])
        shared = (part for part, count in counts.items() if count > 2 and len(part) > SHORT)
        self._names = {part: f"d-{hash_value(part)[:8]}" for part in shared}

    def define(self) -> Markup:
        """The shared elements with their names; our own SVG, whose labels `svg` has escaped."""
        return Markup("\n".join(part.replace(" ", f' id="{name}" ', 1) for part, name in self._names.items()))

    def draw(self, drawing: str) -> Markup:
        """A drawing that refers to them."""
        return Markup("\n".join(map(self._refer, drawing.splitlines())))

    def _refer(self, part: str) -> str:
        name = self._names.get(part)
        return f'<use href="#{name}"/>' if name else part


def drawings_of(report: Report) -> Iterable[str]:
    """Every drawing that a page shows, in any order."""
    for section in report.sections:
        yield from (figure.svg for figure in section.figures)
    for condition in report.details.conditions:
        yield from (condition.dots, condition.curves)
    yield from (pair.dots for pair in report.details.pairs)
