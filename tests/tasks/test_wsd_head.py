"""Nearest neighbours among senses, on given vectors."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from elmo_bench.tasks.wsd import WsdHead, WsdHeadSettings, target_vectors
from elmo_bench.tensors import Widths
from elmo_bench.types import UsageError
from tests.support.composition import head_settings
from tests.support.head_batches import ABSENT, Row, collate, predictions

# senses 1 to 4 are in the training set; 0 stands for any that is not
Target = tuple[tuple[int, int], list[int], list[int]]  # span, gold, candidates


def row(vectors: list[list[float]], targets: list[Target]) -> Row:
    def numbers(place: int) -> Tensor:
        lists = [torch.tensor(target[place]) for target in targets]
        return torch.nn.utils.rnn.pad_sequence(lists, batch_first=True)

    fields = {"spans": numbers(0), "gold": numbers(1), "candidates": numbers(2)}
    features = torch.tensor(vectors)
    return Row(str(vectors), fields, features, features[:, :0])


TRAINING = [
    row([[1.0, 0.0], [0.0, 2.0], [9.0, 9.0]], [((0, 1), [1], [0, 1, 2]), ((1, 2), [2], [0, 1, 2])]),
    row([[3.0, 0.0], [0.0, 4.0]], [((0, 1), [1, 3], [0, 1, 2, 3]), ((0, 2), [4], [4])]),
]


def fitted(distance: str = "cosine", batches: list[list[Row]] | None = None) -> WsdHead:
    head = WsdHead(head_settings(WsdHeadSettings, "wsd", distance=distance), senses=5, widths=Widths(2, 0))  # type: ignore[arg-type]
    for rows in batches or [TRAINING]:
        head.observe(*collate(rows))
    head.finish()
    return head


def test_a_sense_is_the_mean_of_its_training_vectors() -> None:
    expected = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.5, 2.0], [0.0, 0.0]]
    assert fitted().means.tolist() == expected
    assert fitted(batches=[[row] for row in reversed(TRAINING)]).means.tolist() == expected


def test_a_target_of_several_words_is_their_mean_and_padding_counts_for_nothing() -> None:
    injected, batch = collate(TRAINING, extra=2, junk=1e9)
    targets, vectors = target_vectors(injected["text"], batch.fields["spans"])
    assert targets.tolist() == [[True, True, False, False], [True, True, False, False]]
    assert vectors.tolist() == [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.5, 2.0]]


def test_the_nearest_candidate_with_a_vector_wins() -> None:
    head = fitted()
    asked = row(
        [[1.0, 0.1], [0.1, 5.0]],
        [
            ((0, 1), [0], [2, 1]),  # second in the list, nearest
            ((1, 2), [0], [0, 1, 2]),  # the first has no vector
            ((1, 2), [0], [1, 3]),  # only what is a candidate
            ((0, 1), [0], [0, 0, 5]),  # none has a vector: the first sense
        ],
    )
    assert predictions(head, [asked]) == [[2, 3, 1, 1]]
    assert predictions(head, [TRAINING[0], asked], extra=2, junk=1e9) == [[2, 3], [2, 3, 1, 1]]


def test_distance_decides_where_length_and_direction_disagree() -> None:
    asked = row([[6.0, 0.5]], [((0, 1), [0], [1, 3])])  # same direction, nearer to the longer one
    assert predictions(fitted("cosine"), [asked]) == [[1]]  # a tie goes to the first
    short = row([[0.2, 0.2]], [((0, 1), [0], [1, 4])])  # nearer in angle to 4, in space to 1
    assert predictions(fitted("cosine"), [short]) == [[2]]
    assert predictions(fitted("euclidean"), [short]) == [[1]]


def test_without_elmo_it_is_the_first_sense() -> None:
    head = WsdHead(head_settings(WsdHeadSettings, "wsd"), senses=5, widths=ABSENT)
    narrow = [Row(one.id, one.fields, one.at_input[:, :0], one.at_output) for one in TRAINING]
    head.observe(*collate(narrow))
    head.finish()
    assert predictions(head, narrow) == [[1, 1], [1, 1]]


def test_there_is_no_place_at_the_output() -> None:
    with pytest.raises(UsageError, match=r"elmo\.where"):
        WsdHead(head_settings(WsdHeadSettings, "wsd"), senses=5, widths=Widths(0, 2))
