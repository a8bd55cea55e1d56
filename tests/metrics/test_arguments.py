"""SRL counts: discontinuous arguments, verbs left out, and what the official script does at the edges."""

from __future__ import annotations

import pytest

from elmo_bench.data.tags import Chunk
from elmo_bench.metrics.arguments import count_arguments, join_pieces, score_arguments

A0, A1, V = Chunk("ARG0", 0, 1), Chunk("ARG1", 2, 4), Chunk("V", 1, 2)
C1 = Chunk("C-ARG1", 5, 6)


def numbers(gold: list[Chunk], predicted: list[Chunk]) -> tuple[float, float, float]:
    counts = count_arguments(gold, predicted)
    return counts["tp"], counts["predicted"], counts["gold"]


def test_verbs_count_under_their_label_alone() -> None:
    counts = count_arguments([A0, V], [A0, V])
    assert (counts["tp"], counts["tp:V"], counts["perfect"]) == (1, 1, 1)
    counts = count_arguments([A0, V], [A0])
    assert (counts["tp"], counts["gold:V"], counts["perfect"]) == (1, 1, 1)
    scores = score_arguments([counts])
    assert (scores["f1"], scores["recall:V"], scores["perfect_propositions"]) == (100, 0, 100)


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ([A1, C1], [A1, C1], (1, 1, 1)),  # two pieces are one argument
        ([A1, C1], [A1], (0, 1, 1)),  # and all of it has to be found
        ([A1, C1], [Chunk("ARG1", 2, 6)], (0, 1, 1)),  # not as one piece
        ([A1, C1], [Chunk("ARG1", 2, 3), C1], (0, 1, 1)),
        ([A1, C1], [Chunk("ARG0", 2, 4), Chunk("C-ARG0", 5, 6)], (0, 1, 1)),
        ([C1], [Chunk("ARG1", 5, 6)], (1, 1, 1)),  # a continuation of nothing is an argument
        ([A0, C1], [A0, C1], (2, 2, 2)),
        ([A0], [Chunk("R-ARG0", 0, 1)], (0, 1, 1)),  # a reference is its own label
        ([A0, A1], [A0, Chunk("ARG1", 2, 5)], (1, 2, 2)),
        ([], [A0], (0, 1, 0)),
        ([A0], [], (0, 0, 1)),
    ],
)
def test_an_argument_is_right_when_label_borders_and_pieces_agree(
    gold: list[Chunk], predicted: list[Chunk], expected: tuple[int, int, int]
) -> None:
    assert numbers(gold, predicted) == expected


def test_a_continuation_goes_on_with_the_last_argument_of_its_label() -> None:
    first, second = Chunk("ARG1", 0, 1), Chunk("ARG1", 2, 3)
    arguments = join_pieces([C1, second, first])
    assert [(one.start, one.end, one.pieces) for one in arguments] == [(0, 1, []), (2, 6, [(2, 3), (5, 6)])]
    [argument] = join_pieces([first, Chunk("C-ARG1", 2, 3), Chunk("C-ARG1", 4, 5)])
    assert argument.pieces == [(0, 1), (2, 3), (4, 5)]


def test_phrases_inside_a_phrase_are_its_pieces() -> None:
    outer, inner = Chunk("ARG1", 0, 4), Chunk("ARG2", 1, 2)
    assert [one.pieces for one in join_pieces([outer, inner])] == [[(1, 2)], []]
    assert numbers([outer, inner], [outer, inner]) == (2, 2, 2)
    assert numbers([outer, inner], [outer]) == (0, 1, 2)
