"""NER counts: summed, they are seqeval's default mode, whatever the sequences."""

from __future__ import annotations

import random
from itertools import product

import pytest

from elmo_bench.metrics.entities import count_entities, score_entities
from elmo_bench.metrics.reference import differing, entities_by_seqeval

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


@pytest.mark.parametrize("prefixes", ["BI", "BIES", "BIUL"])
def test_summed_counts_equal_seqeval_on_random_files(prefixes: str) -> None:
    generator = random.Random(0)
    tags = ["O", "O", *(f"{prefix}-{label}" for prefix in prefixes for label in ("PER", "LOC"))]
    for _ in range(150):
        lengths = [generator.randint(1, 12) for _ in range(generator.randint(1, 8))]
        gold, predicted = ([generator.choices(tags, k=n) for n in lengths] for _ in range(2))
        scores = score_entities(map(count_entities, gold, predicted))
        assert differing(scores, entities_by_seqeval(gold, predicted)) == []


def test_counts_equal_seqeval_on_every_pair_of_three_tags() -> None:
    sequences = [list(tags) for tags in product(TAGS, repeat=3)]
    for gold in sequences[::3]:
        for predicted in sequences[::7]:
            scores = score_entities([count_entities(gold, predicted)])
            assert differing(scores, entities_by_seqeval([gold], [predicted])) == []


def test_another_figure_or_a_missing_one_is_a_difference() -> None:
    assert differing({"f1": 50.0, "recall": 10.0}, {"f1": 50.0 + 1e-6, "recall": 10.0 + 1e-12}) == ["f1"]
    assert differing({"f1": 50.0}, {"f1": 50.0, "f1:PER": 0.0}) == ["f1:PER"]


def test_types_are_counted_on_their_own() -> None:
    counts = count_entities(["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "I-PER", "O", "B-ORG"])
    assert counts == {
        "tp": 1, "predicted": 2, "gold": 2, "tokens": 4, "correct_tokens": 3,
        "tp:PER": 1, "predicted:PER": 1, "predicted:ORG": 1, "gold:PER": 1, "gold:LOC": 1,
    }  # fmt: skip
    scores = score_entities([counts])
    assert scores["accuracy"] == 75
    assert (scores["f1"], scores["f1:PER"], scores["f1:LOC"], scores["f1:ORG"]) == (50, 100, 0, 0)


def test_nothing_found_where_nothing_is_scores_zero() -> None:
    assert score_entities([count_entities(["O"], ["O"])]) == {
        "precision": 0, "recall": 0, "f1": 0, "accuracy": 100,
    }  # fmt: skip


def test_sequences_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="as many predicted tags"):
        count_entities(["O"], [])
