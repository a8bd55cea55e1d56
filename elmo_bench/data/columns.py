"""Column files in the CoNLL tradition: a token per line, a blank line after each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.data.lines import fault, read_lines, shown

DOCUMENT_START = "-DOCSTART-"


@dataclass(frozen=True)
class ColumnSentence:
    """The rows between two blank lines, which are on consecutive lines of the file."""

    document: int  # the number of document starts before it
    first_line: int
    rows: tuple[tuple[str, ...], ...]

    def column(self, index: int) -> tuple[str, ...]:
        """One column from top to bottom; -1 is the last."""
        return tuple(row[index] for row in self.rows)


def read_columns(path: Path, minimum: int, keep_starts: bool = False) -> Iterator[ColumnSentence]:
    """Sentences of a column file; every row has as many columns as the first, at least `minimum`.

    Document starts are boundaries, not rows, unless `keep_starts` is set and they have all columns.
    """
    width = 0
    document = 0
    first_line = 1
    rows: list[tuple[str, ...]] = []
    for number, line in read_lines(path):
        row = split_columns(line)
        is_start = row[:1] == (DOCUMENT_START,) and not (keep_starts and len(row) == (width or minimum))
        if row and not is_start:
            width = width or max(len(row), minimum)
            if len(row) != width:
                raise fault(
                    path,
                    number,
                    f"{width} columns",
                    f"{len(row)}: {shown(line)}",
                    "every row needs all columns",
                )
            if not rows:
                first_line = number
            rows.append(row)
            continue
        if rows:
            yield ColumnSentence(document, first_line, tuple(rows))
            rows = []
        document += bool(row)
    if rows:
        yield ColumnSentence(document, first_line, tuple(rows))


def split_columns(line: str) -> tuple[str, ...]:
    """The columns of one line; none for a blank line.

    Only blanks and tabs separate columns: a no-break space may be part of a word.
    """
    return tuple(filter(None, line.replace("\t", " ").split(" ")))


def tagged_columns(sentences: Iterable[tuple[Sequence[str], Sequence[str], Sequence[str]]]) -> str:
    """Rows `word gold predicted`, a blank line after each sentence."""
    lines = []
    for words, gold, predicted in sentences:
        lines += [" ".join(row) for row in zip(words, gold, predicted, strict=True)]
        lines.append("")
    return "\n".join(lines)
