"""CoNLL-2012 columns: documents with parts of speech, propositions, speakers and coreference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from elmo_bench.data.brackets import Proposition, parse_brackets
from elmo_bench.data.columns import split_columns
from elmo_bench.data.lines import fault, read_lines, require_any, shown
from elmo_bench.types import Words

# and then entities, one column of arguments per predicate, coreference
DOCUMENT, PART, NUMBER, WORD, TAG, _, LEMMA, ROLESET, _, SPEAKER = range(10)
FIRST_ARGUMENT = 11
COREFERENCE = -1
BEGIN = re.compile(r"#\s*begin document\s+\(?(.*?)\)?(?:;\s*part\s+(\d+))?\s*")
END = re.compile(r"#\s*end document.*")
NOTHING = "-"


@dataclass(frozen=True)
class Conll2012Sentence:
    """The rows between two blank lines, which are on consecutive lines of the file."""

    path: Path
    document: int  # the number of its document or part in the file, from 1
    first_line: int
    rows: tuple[tuple[str, ...], ...]

    @cached_property
    def _columns(self) -> tuple[tuple[str, ...], ...]:
        return tuple(zip(*self.rows, strict=True))

    def column(self, index: int) -> tuple[str, ...]:
        """One column from top to bottom; -1 is the last."""
        return self._columns[index]

    @property
    def words(self) -> Words:
        """The words exactly as in the file, with treebank escapes."""
        return self.column(WORD)

    @property
    def tags(self) -> tuple[str, ...]:
        """Parts of speech."""
        return self.column(TAG)

    @property
    def speakers(self) -> tuple[str, ...]:
        """The speaker of each word; `-` if none is given."""
        return self.column(SPEAKER)

    def propositions(self) -> tuple[Proposition, ...]:
        """Predicates with their phrases; the columns of brackets are in the order of the rolesets."""
        columns = [
            parse_brackets(self.path, self.first_line, self.column(index))
            for index in range(FIRST_ARGUMENT, len(self.rows[0]) - 1)
        ]
        lemmas, rolesets = self.column(LEMMA), self.column(ROLESET)
        predicates = [position for position, roleset in enumerate(rolesets) if roleset != NOTHING]
        if len(predicates) != len(columns):
            # OntoNotes has rolesets without arguments; their predicate is marked by the verb's own bracket.
            predicates = [phrase.start for column in columns for phrase in column if phrase.label == "V"]
        if len(predicates) != len(columns):
            expected = f"a predicate for each of {len(columns)} columns of arguments"
            raise fault(self.path, self.first_line, expected, f"{len(predicates)}")
        return tuple(
            Proposition(predicate, lemmas[predicate], phrases)
            for predicate, phrases in zip(predicates, columns, strict=True)
        )


@dataclass(frozen=True)
class Conll2012Document:
    """One part of a document, the unit of coreference annotation."""

    path: Path
    line: int
    name: str
    part: int
    sentences: tuple[Conll2012Sentence, ...]


def read_documents(path: Path) -> Iterator[Conll2012Document]:
    """Documents between `#begin document` and `#end document`, with unique names and parts, none empty."""
    seen: set[tuple[str, int]] = set()
    for document in require_any(path, _read_documents(path), "document"):
        identity = (document.name, document.part)
        if identity in seen:
            raise fault(
                path, document.line, "a new document or part", f"{document.name}, part {document.part} again"
            )
        if not document.sentences:
            expected = f"at least one sentence in document {document.name}, part {document.part}"
            raise fault(path, document.line, expected, "none", "remove the document")
        seen.add(identity)
        yield document


def _read_documents(path: Path) -> Iterator[Conll2012Document]:
    begun: tuple[int, str, int] | None = None
    sentences: list[Conll2012Sentence] = []
    rows: list[tuple[str, ...]] = []
    number = document = 0
    for number, line in read_lines(path):
        is_border = line.startswith("#") and (match := BEGIN.fullmatch(line) or END.fullmatch(line))
        row = () if is_border else split_columns(line)
        if row:
            _check_row(path, number, row, rows, is_inside=begun is not None)
            rows.append(row)
            continue
        if rows:
            sentences.append(Conll2012Sentence(path, document, number - len(rows), tuple(rows)))
            rows = []
        if is_border and match:
            if (match.re is BEGIN) == (begun is not None):
                expected = "#end document" if begun else "#begin document (NAME); part NUMBER"
                raise fault(path, number, expected, shown(line))
            if begun:
                yield Conll2012Document(path, *begun, tuple(sentences))
            document += begun is None
            begun = None if begun else (number, match[1], int(match[2] or 0))
            sentences = []
    if begun:
        raise fault(path, number, "#end document", "the end of the file", "is the file cut short?")


def _check_row(
    path: Path, number: int, row: Sequence[str], before: Sequence[Sequence[str]], is_inside: bool
) -> None:
    if not is_inside:
        raise fault(path, number, "#begin document (NAME); part NUMBER", shown(" ".join(row)))
    if before and len(row) != len(before[0]):
        raise fault(path, number, f"{len(before[0])} columns, as on the line before", f"{len(row)}")
    if len(row) <= FIRST_ARGUMENT:
        raise fault(
            path, number, f"at least {FIRST_ARGUMENT + 1} columns", f"{len(row)}: {shown(' '.join(row))}"
        )
