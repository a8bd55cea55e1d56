"""Tag schemes, exhaustively at small scope: chunkings of up to five tokens, sequences of up to three tags."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

import pytest

from elmo_bench.data.tags import (
    Chunk,
    Scheme,
    chunks_of,
    convert_tags,
    find_fault,
    recognise_scheme,
    tags_of,
)

SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


def chunkings(length: int) -> Iterator[tuple[Chunk, ...]]:
    """All ways to lay chunks of two types over some tokens."""

    def extend(start: int) -> Iterator[tuple[Chunk, ...]]:
        if start == length:
            yield ()
            return
        for rest in extend(start + 1):
            yield rest
        for end in range(start + 1, length + 1):
            for label in ("A", "B-x"):
                for rest in extend(end):
                    yield (Chunk(label, start, end), *rest)

    return extend(0)


ALL = [(length, chunks) for length in range(6) for chunks in chunkings(length)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_chunking_survives_writing_and_reading(scheme: Scheme) -> None:
    for length, chunks in ALL:
        tags = tags_of(chunks, length, scheme)
        assert len(tags) == length
        assert find_fault(tags, scheme) is None
        assert chunks_of(tags) == chunks


def test_conversion_between_any_two_schemes_keeps_the_chunks() -> None:
    for length, chunks in ALL:
        for source, target in product(SCHEMES, SCHEMES):
            converted = convert_tags(tags_of(chunks, length, source), target)
            assert converted == tags_of(chunks, length, target)


def test_every_chunking_is_recognised_as_the_scheme_it_was_written_in() -> None:
    for length, chunks in ALL:
        for scheme in SCHEMES:
            found, _, fault = recognise_scheme([["O"], tags_of(chunks, length, scheme)])
            assert fault is None
            if any(chunk.end - chunk.start == 1 for chunk in chunks) and any(
                chunk.end - chunk.start > 1 for chunk in chunks
            ):
                assert found == scheme


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_sequence_is_legal_exactly_when_some_chunking_is_written_so(scheme: Scheme) -> None:
    written = {tags_of(chunks, length, scheme) for length, chunks in ALL if length <= 4}
    alphabet = ["O", *(f"{prefix}-{label}" for prefix in "BIESLU" for label in ("A", "B-x"))]
    for length in range(4):
        for tags in product(alphabet, repeat=length):
            assert (find_fault(tags, scheme) is None) == (tags in written), tags


@pytest.mark.parametrize(
    ("tags", "chunks"),
    [
        (["O", "I-A", "I-A"], [("A", 1, 3)]),  # I after O opens
        (["B-A", "I-B"], [("A", 0, 1), ("B", 1, 2)]),  # a change of type parts
        (["I-A", "O", "I-A"], [("A", 0, 1), ("A", 2, 3)]),
        (["B-A", "B-A"], [("A", 0, 1), ("A", 1, 2)]),
        (["E-A", "E-A"], [("A", 0, 1), ("A", 1, 2)]),  # a closed chunk cannot go on
        (["S-A", "I-A"], [("A", 0, 1), ("A", 1, 2)]),
        (["B", "I", "O"], [("", 0, 2)]),  # chunks without a type
    ],
)
def test_illegal_sequences_are_read_as_conlleval_reads_them(
    tags: list[str], chunks: list[tuple[str, int, int]]
) -> None:
    assert [tuple(chunk) for chunk in chunks_of(tags)] == chunks


@pytest.mark.parametrize(
    ("sequences", "scheme", "index", "position"),
    [
        ([["B-A", "I-A"], ["O", "I-A"]], "IOB2", 1, 1),
        ([["I-A"], ["B-A"]], "IOB1", 1, 0),
        ([["S-A"], ["B-A", "I-A"]], "BIOES", 1, 1),
        ([["U-A"], ["S-A"]], "BIOUL", 1, 0),
        ([["O"], ["O", "X-A"]], "IOB2", 1, 1),
        ([["B-"]], "IOB2", 0, 0),
    ],
)
def test_a_mix_is_blamed_on_the_place_that_breaks_the_scheme_so_far(
    sequences: list[list[str]], scheme: Scheme, index: int, position: int
) -> None:
    found, broken, fault = recognise_scheme(sequences)
    assert fault is not None
    assert (found, broken, fault.position) == (scheme, index, position)
