"""Running text as numbers: which held-out sentences the training text has, too."""

from __future__ import annotations

import random

import pytest

from elmo_bench.bilm.training import text as texts
from elmo_bench.bilm.training.text import count_shared, encode_sentences
from elmo_bench.types import Words

CHOOSER = random.Random(5)


def draw(count: int, alphabet: str) -> list[Words]:
    return [tuple(CHOOSER.choices(alphabet, k=CHOOSER.randint(1, 4))) for _ in range(count)]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_shared_sentences_are_those_of_a_set(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "TOKENS_PER_CHUNK", chunk)
    training, heldout = draw(300, "abcde"), draw(100, "cdefg")
    expected = sum(words in set(training) for words in heldout)
    assert 0 < expected < len(heldout)
    assert count_shared(encode_sentences(heldout), encode_sentences(training)) == expected


def test_the_order_of_words_counts() -> None:
    training = encode_sentences([("a", "b"), ("b", "b", "a")])
    assert count_shared(encode_sentences([("b", "a"), ("b",), ("a", "b"), ("a", "b", "b")]), training) == 1
