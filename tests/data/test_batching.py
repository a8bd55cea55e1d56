"""Padding, and the order of training batches."""

from __future__ import annotations

import pytest
import torch

from elmo_bench.data.batching import IndexedExample, pad, plan_batches
from elmo_bench.runs.batches import EvaluationBatches, TrainingBatches, no_layers, seed_at
from elmo_bench.types import Excerpt


def examples(count: int) -> list[IndexedExample]:
    lengths = [1 + number % 5 for number in range(count)]
    return [
        IndexedExample(
            str(number), {"text": (Excerpt.whole(("word",) * length),)}, {"length": torch.tensor(length)}
        )
        for number, length in enumerate(lengths)
    ]


def test_padding_adds_zeros_at_every_end() -> None:
    padded = pad([torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5], [6]]), torch.tensor([[7, 8, 9]])])
    assert padded.tolist() == [[[1, 2, 0], [3, 4, 0]], [[5, 0, 0], [6, 0, 0]], [[7, 8, 9], [0, 0, 0]]]


@pytest.mark.parametrize("bucket", [False, True])
def test_every_example_is_in_one_batch(bucket: bool) -> None:
    plan = plan_batches([3, 1, 2, 5, 4, 9, 7], batch_size=3, seed=5, bucket=bucket)
    assert sorted(number for batch in plan for number in batch) == list(range(7))
    assert sorted(map(len, plan)) == [1, 3, 3]


def test_buckets_hold_neighbours_in_length() -> None:
    lengths = [9, 1, 8, 2, 7, 3]
    plan = plan_batches(lengths, batch_size=2, seed=1, bucket=True)
    assert sorted(sorted(lengths[number] for number in batch) for batch in plan) == [[1, 2], [3, 7], [8, 9]]


def test_another_seed_gives_another_order() -> None:
    plans = {str(plan_batches(list(range(30)), 4, seed, bucket=False)) for seed in range(20)}
    assert len(plans) == 20


def test_seeds_of_neighbouring_positions_are_all_different() -> None:
    assert len({seed_at(seed, position) for seed in range(50) for position in range(-1, 200)}) == 50 * 201


@pytest.mark.parametrize("bucket", [False, True])
def test_a_start_at_any_step_reads_exactly_the_rest_of_its_epoch(bucket: bool) -> None:
    batches = TrainingBatches(examples(23), no_layers, 4, bucket, seed=3)
    assert len(batches) == 6
    for epoch in range(3):
        batches.step = lambda step=6 * epoch: step  # type: ignore[misc]
        whole = [batch.ids for batch in batches]
        assert sorted(int(name) for ids in whole for name in ids) == list(range(23))
        for start in range(6):
            batches.step = lambda step=6 * epoch + start: step  # type: ignore[misc]
            assert [batch.ids for batch in batches] == whole[start:]


def test_evaluation_pads_little_and_answers_in_the_order_of_the_file() -> None:
    batches = EvaluationBatches(examples(10), no_layers, 4)
    names = [name for batch in batches for name in batch.ids]
    lengths = [batch.streams["text"].mask.sum(1).tolist() for batch in batches]
    assert lengths == [[1, 1, 2, 2], [3, 3, 4, 4], [5, 5]]
    assert batches.in_file_order(names) == [str(number) for number in range(10)]


def test_without_elmo_the_layers_are_empty_and_the_mask_is_right() -> None:
    layers, mask = no_layers([("a", "b", "c"), ("d",)])
    assert layers.shape == (2, 0, 3, 0)
    assert mask.tolist() == [[True, True, True], [True, False, False]]
