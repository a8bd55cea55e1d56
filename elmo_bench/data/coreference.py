"""Coreference chains in the last column of CoNLL-2012 files: `(3`, `3)`, `(3)`, joined by `|`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elmo_bench.data.conll2012 import COREFERENCE, Conll2012Document, read_documents
from elmo_bench.data.lines import fault, shown
from elmo_bench.types import Words

NOTHING = ("-", "_", "*")
MARK = re.compile(r"(\()?([0-9]+)(\))?")


class Mention(NamedTuple):
    """Tokens of a document, indexed across its sentences, up to but not including `end`."""

    start: int
    end: int


Cluster = tuple[Mention, ...]


@dataclass(frozen=True)
class CoreferenceDocument:
    """One part of a document with its chains of mentions."""

    name: str
    part: int
    sentences: tuple[Words, ...]
    speakers: tuple[tuple[str, ...], ...]  # per sentence and word, `-` if none is given
    clusters: tuple[Cluster, ...]  # in the order in which they are first mentioned

    @property
    def id(self) -> str:
        """Name and part, as predictions name a document."""
        return f"{self.name};{self.part:03d}"


def read_coreference(path: Path) -> Iterator[CoreferenceDocument]:
    """Documents with their clusters; unbalanced brackets are an error."""
    for document in read_documents(path):
        yield CoreferenceDocument(
            document.name,
            document.part,
            tuple(sentence.words for sentence in document.sentences),
            tuple(sentence.speakers for sentence in document.sentences),
            _clusters(document),
        )


def _clusters(document: Conll2012Document) -> tuple[Cluster, ...]:
    """Mentions by chain; within a token in the scorer's order: single tokens, openings, closings."""
    mentions: dict[str, list[Mention]] = {}
    opened: dict[str, list[tuple[int, int]]] = {}  # chain -> its open brackets, the latest last
    position = 0
    for sentence in document.sentences:
        for line, field in enumerate(sentence.column(COREFERENCE), start=sentence.first_line):
            for opens, chain, closes in sorted(_marks(document.path, line, field), key=_reading_order):
                mentions.setdefault(chain, [])
                if opens:
                    opened.setdefault(chain, []).append((position, line))
                if closes:
                    if not opened.get(chain):
                        raise fault(document.path, line, f"({chain} before {chain})", shown(field))
                    start, _ = opened[chain].pop()
                    mentions[chain].append(Mention(start, position + 1))
            position += 1
    for chain, positions in opened.items():
        for _, line in positions:
            raise fault(document.path, line, f"{chain}) after ({chain}", "the end of the document")
    return tuple(tuple(cluster) for cluster in mentions.values())


def _marks(path: Path, line: int, field: str) -> Iterator[tuple[bool, str, bool]]:
    if field in NOTHING:
        return
    for mark in field.split("|"):
        match = MARK.fullmatch(mark)
        if not match or not (match[1] or match[3]):
            raise fault(path, line, "-, (3, 3) or (3), joined by |, in the last column", shown(field))
        yield bool(match[1]), match[2], bool(match[3])


def _reading_order(mark: tuple[bool, str, bool]) -> int:
    opens, _, closes = mark
    return 0 if opens and closes else 1 if opens else 2


def write_coreference(path: Path, documents: Iterable[CoreferenceDocument]) -> None:
    """A CoNLL-2012 file with words, speakers and chains only."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for document in documents:
            fields = iter(_fields(document.clusters, sum(map(len, document.sentences))))
            file.write(f"#begin document ({document.name}); part {document.part:03d}\n")
            for words, speakers in zip(document.sentences, document.speakers, strict=True):
                for number, (word, speaker) in enumerate(zip(words, speakers, strict=True)):
                    columns = [document.name, str(document.part), str(number), word]
                    columns += ["-", "*", "-", "-", "-", speaker, "*", next(fields)]
                    file.write("\t".join(columns) + "\n")
                file.write("\n")
            file.write("#end document\n")


def _fields(clusters: Sequence[Cluster], length: int) -> list[str]:
    marks: list[list[str]] = [[] for _ in range(length)]
    spans = [(mention, chain) for chain, cluster in enumerate(clusters) for mention in cluster]
    for (start, end), chain in sorted(spans, key=lambda span: (span[0].start, -span[0].end)):
        if end - start == 1:
            marks[start].append(f"({chain})")
        else:
            marks[start].append(f"({chain}")
    for (start, end), chain in sorted(spans, key=lambda span: (span[0].end, -span[0].start)):
        if end - start > 1:
            marks[end - 1].append(f"{chain})")
    return ["|".join(field) or "-" for field in marks]
