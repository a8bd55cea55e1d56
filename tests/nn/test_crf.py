"""The CRF against enumeration of every label sequence."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from elmo_bench.nn.crf import Constraints, Crf, bio_constraints, bioul_constraints, viterbi

LENGTHS = (4, 1, 3, 2)
BIOUL = ("B-X", "I-X", "L-X", "O", "U-X")


def everything_legal(labels: int) -> Constraints:
    return Constraints(
        torch.ones(labels, dtype=torch.bool),
        torch.ones(labels, labels, dtype=torch.bool),
        torch.ones(labels, dtype=torch.bool),
    )


def random_crf(constraints: Constraints, seed: int) -> Crf:
    torch.manual_seed(seed)
    crf = Crf(constraints).double()
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter, std=2.0)
    return crf


def random_batch(labels: int, scale: float) -> tuple[Tensor, Tensor]:
    emissions = scale * torch.randn(len(LENGTHS), max(LENGTHS), labels, dtype=torch.float64)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    return emissions, mask


def enumerated(crf: Crf, emissions: Tensor) -> dict[tuple[int, ...], Tensor]:
    """The score of every label sequence of one row, written down the slow way."""
    scores = {}
    for path in itertools.product(range(len(crf.start)), repeat=len(emissions)):
        score = crf.start[path[0]] + crf.end[path[-1]]
        for step, label in enumerate(path):
            score = score + emissions[step, label]
        for first, second in itertools.pairwise(path):
            score = score + crf.between[first, second]
        scores[path] = score
    return scores


def is_legal(constraints: Constraints, path: tuple[int, ...]) -> bool:
    between = all(constraints.between[first, second] for first, second in itertools.pairwise(path))
    return bool(constraints.start[path[0]] and constraints.end[path[-1]] and between)


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("labels", [1, 2, 3, 5])
def test_likelihood_is_that_of_enumeration(labels: int, scale: float) -> None:
    crf = random_crf(everything_legal(labels), seed=labels)
    emissions, mask = random_batch(labels, scale)
    gold = torch.randint(labels, mask.shape)
    losses = crf(emissions, mask, gold)
    for row, length in enumerate(LENGTHS):
        scores = enumerated(crf, emissions[row, :length])
        expected = (
            torch.stack(list(scores.values())).logsumexp(0) - scores[tuple(gold[row, :length].tolist())]
        )
        torch.testing.assert_close(losses[row], expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("labels", [1, 2, 4])
def test_gradient_is_that_of_enumeration(labels: int) -> None:
    crf = random_crf(everything_legal(labels), seed=labels)
    emissions, mask = random_batch(labels, scale=2.0)
    emissions.requires_grad_(True)
    weights = torch.tensor([0.3, -1.0, 2.0, 0.0], dtype=torch.float64)
    variables = [emissions, *crf.parameters()]
    ours = torch.autograd.grad((weights * crf.log_partition(emissions, mask)).sum(), variables)
    slow = [
        torch.stack(list(enumerated(crf, emissions[row, :length]).values())).logsumexp(0)
        for row, length in enumerate(LENGTHS)
    ]
    expected = torch.autograd.grad((weights * torch.stack(slow)).sum(), variables, materialize_grads=True)
    for mine, theirs in zip(ours, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("constraints", [bioul_constraints(BIOUL), everything_legal(3)])
def test_decoding_finds_the_best_legal_sequence(constraints: Constraints) -> None:
    for seed in range(10):
        crf = random_crf(constraints, seed)
        emissions, mask = random_batch(len(constraints.start), scale=2.0)
        decoded = crf.decode(emissions, mask)
        for row, length in enumerate(LENGTHS):
            scores = enumerated(crf, emissions[row, :length])
            legal = {
                path: float(score.detach()) for path, score in scores.items() if is_legal(constraints, path)
            }
            assert tuple(decoded[row]) == max(legal, key=lambda path: legal[path])


def test_padding_changes_neither_likelihood_nor_path() -> None:
    crf = random_crf(bioul_constraints(BIOUL), seed=0)
    emissions, mask = random_batch(len(BIOUL), scale=2.0)
    gold = torch.randint(len(BIOUL), mask.shape)
    wider = torch.nn.functional.pad(emissions, (0, 0, 0, 3), value=50.0)
    longer, tags = torch.nn.functional.pad(mask, (0, 3)), torch.nn.functional.pad(gold, (0, 3))
    assert torch.equal(crf(wider, longer, tags), crf(emissions, mask, gold))
    assert crf.decode(wider, longer) == crf.decode(emissions, mask)


def is_bioul(tags: tuple[str, ...]) -> bool:
    """Whether every chunk is U, or B I* L of one type: said by consuming the sequence, not by pairs."""
    rest = list(tags)
    while rest:
        tag = rest.pop(0)
        if tag[0] in "IL":
            return False
        if tag[0] == "B":
            while rest and rest[0] == "I" + tag[1:]:
                rest.pop(0)
            if not rest or rest.pop(0) != "L" + tag[1:]:
                return False
    return True


def is_bio(tags: tuple[str, ...]) -> bool:
    """Whether every I follows a B or I of its own type."""
    opened = ""
    for tag in tags:
        if tag[0] == "I" and tag[1:] != opened:
            return False
        opened = tag[1:]
    return True


@pytest.mark.parametrize("length", range(1, 5))
def test_constraints_allow_exactly_the_legal_sequences(length: int) -> None:
    bioul = ("O", *(f"{prefix}-{kind}" for kind in "XY" for prefix in "BILU"))
    bio = ("O", "B-X", "I-X", "B-Y", "I-Y")
    for labels, constraints, legal in (
        (bioul, bioul_constraints(bioul), is_bioul),
        (bio, bio_constraints(bio), is_bio),
    ):
        for path in itertools.product(range(len(labels)), repeat=length):
            assert is_legal(constraints, path) == legal(tuple(labels[label] for label in path))


def test_viterbi_takes_any_scores() -> None:
    emissions = torch.tensor([[[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    between = torch.tensor([[0.0, 0.0], [0.0, -torch.inf]])
    assert viterbi(emissions, mask, torch.zeros(2), between, torch.zeros(2)) == [[1, 0, 1]]
