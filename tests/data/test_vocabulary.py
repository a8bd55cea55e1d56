"""Ids of characters."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.data.vocabulary import Vocabulary, spell

CHARACTERS = Vocabulary.open("abcab")


@pytest.mark.parametrize("words", [["a"], ["cab", "a", "", "zb\0"], ["çab", "bbbb"]])
def test_words_are_spelt_character_by_character_and_padded(words: list[str]) -> None:
    ids = [torch.tensor(list(map(CHARACTERS.id_of, word)), dtype=torch.long) for word in words]
    assert torch.equal(spell(words, CHARACTERS), pad_sequence(ids, batch_first=True))


def test_no_words_have_no_characters() -> None:
    assert spell([], CHARACTERS).shape == (0, 0)
