"""Sentences inside their documents."""

from __future__ import annotations

from dataclasses import dataclass

from elmo_bench.data.excerpts import join, locate
from elmo_bench.types import Excerpt, Words


@dataclass(frozen=True)
class Row:
    document: int
    words: Words


def test_every_sentence_is_located_in_the_text_of_its_document() -> None:
    rows = [Row(1, ("a", "b")), Row(1, ("c",)), Row(2, ("d", "e"))]
    first, second = ("a", "b", "c"), ("d", "e")
    assert list(locate(rows)) == [
        (rows[0], Excerpt(first, 0, 2)),
        (rows[1], Excerpt(first, 2, 3)),
        (rows[2], Excerpt(second, 0, 2)),
    ]


def test_sentences_of_a_document_share_its_text() -> None:
    one, other = join([("a", "b"), ("c",)])
    assert one.text is other.text
    assert (one.words, other.words) == (("a", "b"), ("c",))
    assert (len(one), len(other)) == (2, 1)


def test_a_sentence_before_the_first_document_has_none() -> None:
    rows = [Row(0, ("a",)), Row(0, ("b",)), Row(1, ("c",))]
    assert [excerpt for _, excerpt in locate(rows)] == [None, None, Excerpt(("c",), 0, 1)]


def test_escapes_are_undone_in_the_whole_text() -> None:
    ((_, excerpt),) = locate([Row(1, ("-LRB-", "a", "-RRB-"))])
    assert excerpt == Excerpt(("(", "a", ")"), 0, 3)
