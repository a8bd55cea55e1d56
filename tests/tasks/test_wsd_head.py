"""Nearest neighbours among senses, on given vectors."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from elmo_bench.tasks.wsd import HEADS, MeanHead, TokenHead, WsdHeadSettings, target_vectors
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


def settings(**changes: str) -> WsdHeadSettings:
    return head_settings(WsdHeadSettings, "wsd", **changes)


Reading = Literal["mean", "token"]
READINGS: tuple[Reading, ...] = ("mean", "token")


def fitted(
    nearest: Reading = "mean", distance: str = "cosine", batches: list[list[Row]] | None = None
) -> Any:
    head = HEADS[nearest](settings(distance=distance), 5, Widths(2, 0))
    for rows in batches or [TRAINING]:
        head.observe(*collate(rows))
    head.finish()
    return head


def test_a_sense_is_the_mean_of_its_training_vectors() -> None:
    expected = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.5, 2.0], [0.0, 0.0]]
    assert fitted().means.tolist() == expected
    assert fitted(batches=[[row] for row in reversed(TRAINING)]).means.tolist() == expected


def test_a_sense_has_all_of_its_training_vectors() -> None:
    expected = [[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.5, 2.0]]
    assert (fitted("token").tokens.tolist(), fitted("token").ends.tolist()) == (expected, [0, 2, 3, 4, 5, 5])
    apart = fitted("token", batches=[[row] for row in TRAINING])
    assert (apart.tokens.tolist(), apart.ends.tolist()) == (expected, [0, 2, 3, 4, 5, 5])


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_the_nearest_token_is_that_of_a_search_by_brute_force(distance: str) -> None:
    generator = torch.Generator().manual_seed(0)
    known = [(int(sense), vector) for sense, vector in zip(
        torch.randint(1, 5, (30,), generator=generator), torch.randn(30, 2, generator=generator), strict=True
    )]  # fmt: skip
    training = [row([vector.tolist()], [((0, 1), [sense], [1])]) for sense, vector in known]
    head = fitted("token", distance, [training[:11], training[11:]])
    asked = torch.randn(20, 2, generator=generator)
    rows = [row([vector.tolist()], [((0, 1), [0], [1, 2, 3, 4])]) for vector in asked]
    for vector, answer in zip(asked, predictions(head, rows), strict=True):

        def near(other: Tensor, own: Tensor = vector) -> float:
            if distance == "euclidean":
                return -float((own - other).norm())
            return float(own @ other / own.norm() / other.norm())

        assert answer == [max(known, key=lambda pair: near(pair[1].half().float()))[0]]


def test_tokens_come_back_from_a_file() -> None:
    head = fitted("token")
    other = TokenHead(settings(), 5, Widths(2, 0))
    other.load_state_dict(head.state_dict())
    assert predictions(other, TRAINING) == predictions(head, TRAINING)


def test_a_frequent_sense_is_found_where_a_mean_forgets_it() -> None:
    spread = [[0.1, 1.0], [-1.0, -1.0], [-1.0, -2.0]]
    training = [
        row(spread, [((n, n + 1), [1], [1, 2]) for n in range(3)]),
        row([[1.0, 1.2]], [((0, 1), [2], [1])]),
    ]
    asked = [row([[0.3, 1.0]], [((0, 1), [0], [1, 2])])]
    assert predictions(fitted("token", batches=[training]), asked) == [[1]]
    assert predictions(fitted("mean", batches=[training]), asked) == [[2]]


def test_a_target_of_several_words_is_their_mean_and_padding_counts_for_nothing() -> None:
    injected, batch = collate(TRAINING, extra=2, junk=1e9)
    targets, vectors = target_vectors(injected["text"], batch.fields["spans"])
    assert targets.tolist() == [[True, True, False, False], [True, True, False, False]]
    assert vectors.tolist() == [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.5, 2.0]]


@pytest.mark.parametrize("nearest", READINGS)
def test_the_nearest_candidate_with_a_vector_wins(nearest: Reading) -> None:
    head = fitted(nearest)
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
    assert predictions(fitted("mean", "cosine"), [asked]) == [[1]]  # a tie goes to the first
    short = row([[0.2, 0.2]], [((0, 1), [0], [1, 4])])  # nearer in angle to 4, in space to 1
    assert predictions(fitted("mean", "cosine"), [short]) == [[2]]
    assert predictions(fitted("mean", "euclidean"), [short]) == [[1]]


@pytest.mark.parametrize("nearest", READINGS)
def test_without_elmo_it_is_the_first_sense(nearest: Reading) -> None:
    head = HEADS[nearest](settings(), 5, ABSENT)
    narrow = [Row(one.id, one.fields, one.at_input[:, :0], one.at_output) for one in TRAINING]
    head.observe(*collate(narrow))
    head.finish()
    assert predictions(head, narrow) == [[1, 1], [1, 1]]


@pytest.mark.parametrize("kind", [MeanHead, TokenHead])
def test_there_is_no_place_at_the_output(kind: type[MeanHead | TokenHead]) -> None:
    with pytest.raises(UsageError, match=r"elmo\.where"):
        kind(settings(), 5, Widths(0, 2))
