"""CoNLL-U: words with universal and language-specific parts of speech."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.data.lines import fault, read_lines, require_any, shown
from elmo_bench.types import Words

COLUMNS = 10
NUMBER, FORM, _, UNIVERSAL, SPECIFIC = range(5)
NOT_A_WORD = re.compile(r"[0-9]+-[0-9]+|[0-9]+\.[0-9]+")  # a multiword token's span, an empty node


@dataclass(frozen=True)
class TaggedSentence:
    """One sentence with both tag sets; `_` if the file has no value."""

    document: int  # the number of `# newdoc` lines before it
    line: int
    words: Words
    universal: tuple[str, ...]  # UPOS
    specific: tuple[str, ...]  # XPOS


def read_conllu(path: Path) -> Iterator[TaggedSentence]:
    """Sentences of syntactic words; spans of multiword tokens and empty nodes are left out."""
    return require_any(path, _read_sentences(path), "sentence")


def _read_sentences(path: Path) -> Iterator[TaggedSentence]:
    document = first_line = 0
    rows: list[list[str]] = []
    for number, line in read_lines(path):
        if not line.strip(" \t"):
            yield from _sentence(document, first_line, rows)
            rows = []
        elif line.startswith("#"):
            document += line.removeprefix("#").strip().startswith("newdoc")
        else:
            row = _check_row(path, number, line, len(rows) + 1)
            first_line = first_line if rows else number
            rows += [row] if row else []
    yield from _sentence(document, first_line, rows)


def _sentence(document: int, line: int, rows: list[list[str]]) -> Iterator[TaggedSentence]:
    if rows:
        words, universal, specific = (
            tuple(row[column] for row in rows) for column in (FORM, UNIVERSAL, SPECIFIC)
        )
        yield TaggedSentence(document, line, words, universal, specific)


def _check_row(path: Path, number: int, line: str, expected: int) -> list[str] | None:
    """The columns of a word's row; None for a row that is not a word."""
    row = line.split("\t")
    if len(row) != COLUMNS:
        raise fault(path, number, f"{COLUMNS} columns separated by tabs", f"{len(row)}: {shown(line)}")
    if NOT_A_WORD.fullmatch(row[NUMBER]):
        return None
    if row[NUMBER] != str(expected):
        raise fault(path, number, f"word number {expected}", shown(row[NUMBER]))
    if not row[FORM].strip():
        raise fault(path, number, "a word in the second column", shown(row[FORM]))
    return row
