"""Sentences inside their documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Protocol, TypeVar

from elmo_bench.data.tokens import undo_escapes
from elmo_bench.types import Excerpt, Words


class Located(Protocol):
    """A sentence of a file as a reader gives it."""

    @property
    def document(self) -> int:
        """The number of the document in the file, from 1; 0 if the file has not named one yet."""
        ...

    @property
    def words(self) -> Words: ...


L = TypeVar("L", bound=Located)


def locate(sentences: Iterable[L]) -> Iterator[tuple[L, Excerpt | None]]:
    """Every sentence of a file with its excerpt, escapes undone; None where the file names no document."""
    for document, group in groupby(sentences, key=lambda sentence: sentence.document):
        if document == 0:
            yield from ((sentence, None) for sentence in group)
        else:
            rows = list(group)
            yield from zip(rows, join([undo_escapes(row.words) for row in rows]), strict=True)


def join(sentences: Sequence[Words]) -> tuple[Excerpt, ...]:
    """The sentences of one document as excerpts of its whole text."""
    text = tuple(word for words in sentences for word in words)
    ends = accumulate(map(len, sentences))
    return tuple(Excerpt(text, end - len(words), end) for words, end in zip(sentences, ends, strict=True))
