"""CoNLL-2005 props: the lemma of a predicate or `-`, then one column of brackets per predicate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.data.brackets import Proposition, parse_brackets
from elmo_bench.data.columns import ColumnSentence, split_columns
from elmo_bench.data.lines import fault, read_lines, require_any

NO_PREDICATE = "-"


@dataclass(frozen=True)
class PropsSentence:
    """The propositions of one sentence; the file holds no words."""

    line: int
    length: int
    propositions: tuple[Proposition, ...]


def read_props(path: Path) -> Iterator[PropsSentence]:
    """Sentences in order; the first column of brackets belongs to the first predicate, and so on."""
    for sentence in require_any(path, _read_sentences(path), "sentence"):
        lemmas = sentence.column(0)
        predicates = [position for position, lemma in enumerate(lemmas) if lemma != NO_PREDICATE]
        width = len(sentence.rows[0])
        if width != 1 + len(predicates):
            expected = f"{len(predicates)} columns of arguments for {len(predicates)} predicates"
            raise fault(path, sentence.first_line, expected, str(width - 1))
        yield PropsSentence(
            sentence.first_line,
            len(lemmas),
            tuple(
                Proposition(
                    predicate,
                    lemmas[predicate],
                    parse_brackets(path, sentence.first_line, sentence.column(index)),
                )
                for index, predicate in enumerate(predicates, start=1)
            ),
        )


def _read_sentences(path: Path) -> Iterator[ColumnSentence]:
    """Blocks of rows; the number of columns is the same within a sentence only."""
    rows: list[tuple[str, ...]] = []
    number = 0
    for number, line in read_lines(path):
        row = split_columns(line)
        if row and rows and len(row) != len(rows[0]):
            raise fault(path, number, f"{len(rows[0])} columns, as on the line before", str(len(row)))
        if row:
            rows.append(row)
        elif rows:
            yield ColumnSentence(0, number - len(rows), tuple(rows))
            rows = []
    if rows:
        yield ColumnSentence(0, number - len(rows) + 1, tuple(rows))
