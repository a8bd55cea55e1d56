"""Word tables: the look-up from the exact word down to the number token, and rows that no file has."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from elmo_bench.data.vectors import WordVectors
from elmo_bench.data.word_table import NUMBER, is_number, word_table
from elmo_bench.types import UsageError

VECTORS = WordVectors(
    ("the", ".", "1987", "10", "paul"), np.float32([[1, 2], [-0.5, 0.1], [4, 0], [2, 2], [3, 3]])
)


def test_the_look_up_goes_from_the_word_to_lower_case_to_the_number_token() -> None:
    words = ["The", "the", "Zaphod", "1988", "Paul", "zebra"]
    table = word_table("file", VECTORS, words, dim=0, seed=1, trainable=True)
    assert table.words == ("the", ".", "1987", "10", "paul", NUMBER, "Zaphod", "zebra")
    assert table.dim == 2
    ids = table.ids(("the", "The", "1987", "1988", "3.5", "Zaphod", "ZEBRA", "zaphod", "x1"))
    assert ids.tolist() == [2, 2, 4, 7, 7, 8, 9, 1, 1]
    assert ids.dtype == torch.long
    assert table.matrix[:2].eq(0).all()
    assert table.matrix[7].tolist() == [3, 1]  # the mean of 1987 and 10
    strangers = table.matrix[8:]
    assert strangers.abs().min() > 0 and strangers.abs().max() <= 0.05


def test_a_word_without_a_frozen_vector_looks_the_same_in_training_and_in_test_text() -> None:
    table = word_table("file", VECTORS, ["The", "Zaphod", "12"], dim=0, seed=1, trainable=False)
    assert table.words == ("the", ".", "1987", "10", "paul", NUMBER)
    known, unknown = table.ids(("The", "paul", "12")), table.ids(("Zaphod", "zebra"))
    assert table.matrix[known].abs().sum(1).gt(0).all()
    assert table.matrix[unknown].eq(0).all()
    assert table.coverage([("Zaphod", "zebra", "The", "12")]) == {
        "tokens": 4, "exact": 0, "lower_cased": 25, "number": 25, "training_only": 0, "unknown": 50,
    }  # fmt: skip
    without_numbers = word_table(
        "file", WordVectors(("the",), np.float32([[1, 2]])), ["12"], dim=0, seed=1, trainable=False
    )
    assert without_numbers.matrix[without_numbers.ids(("12",))].eq(0).all()


def test_frozen_vectors_do_not_depend_on_the_seed() -> None:
    one, other = (word_table("file", VECTORS, ["Zaphod"], 0, seed, trainable=False) for seed in (1, 2))
    assert one.words == other.words and one.matrix.equal(other.matrix)


def test_coverage_says_how_every_token_was_found() -> None:
    table = word_table("file", VECTORS, ["Zaphod"], dim=0, seed=1, trainable=True)
    coverage = table.coverage([("the", "The", "1066", "Zaphod"), ("qq", "PAUL", "the", "the")])
    assert coverage == {
        "tokens": 8, "exact": 37.5, "lower_cased": 25, "number": 12.5, "training_only": 12.5, "unknown": 12.5,
    }  # fmt: skip
    assert table.coverage([])["unknown"] == 0


def test_random_tables_depend_on_seed_and_training_words_alone() -> None:
    words = ["b", "A", "7", "b"]
    table, again = (word_table("random", None, order, 5, 3, True) for order in (words, words[::-1]))
    other = word_table("random", None, words, 5, 4, True)
    assert table.words == again.words == (NUMBER, "A", "b")
    assert table.matrix.equal(again.matrix) and not table.matrix.equal(other.matrix)
    assert table.matrix.shape == (5, 5)
    assert table.ids(("b", "B", "a", "8", "z")).tolist() == [4, 4, 1, 2, 1]
    with pytest.raises(UsageError, match=r"words\.dim: expected a positive dimension"):
        word_table("random", None, words, 0, 3, True)


def test_no_words_is_a_table_of_width_zero() -> None:
    table = word_table("none", None, ["a"], 7, 0, True)
    assert table.matrix.shape == (2, 0)
    assert not table.trainable
    assert table.ids(("a", "b")).tolist() == [1, 1]


def test_numbers_are_digits_with_signs() -> None:
    assert all(map(is_number, ["7", "1,000", "-3.5", "$5", "10-12", "50%"]))
    assert not any(map(is_number, ["", "-", "7th", "x1", "1960s"]))
