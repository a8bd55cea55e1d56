"""Byte ids, and token vectors that do not depend on how far a batch is padded."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from elmo_bench.bilm.model import TokenEncoder, character_ids, count_characters, with_marks
from elmo_bench.bilm.settings import BilmOptions


def _row(*ids: int) -> list[int]:
    return [*ids, *[261] * (50 - len(ids))]


@pytest.mark.parametrize(
    ("word", "row"),
    [
        ("a", _row(259, 98, 260)),
        ("A", _row(259, 66, 260)),
        ("", _row(259, 260)),
        ("é", _row(259, 0xC3 + 1, 0xA9 + 1, 260)),
        ("\udc80b", _row(259, 99, 260)),  # a lone surrogate cannot be encoded and is dropped
        ("<S>", _row(259, 257, 260)),
        ("</S>", _row(259, 258, 260)),
        ("<s>", _row(259, *[ord(letter) + 1 for letter in "<s>"], 260)),
        ("x" * 48, [259, *[121] * 48, 260]),
        ("x" * 60, [259, *[121] * 48, 260]),
        ("x" * 47 + "é", [259, *[121] * 47, 0xC3 + 1, 260]),  # cut between two bytes of a letter
    ],
)
def test_rows_follow_the_published_table(word: str, row: list[int]) -> None:
    assert character_ids([word]).tolist() == [row]


def test_sentences_stand_between_marks() -> None:
    assert with_marks(["a", "b"]) == ["<S>", "a", "b", "</S>"]
    assert count_characters(character_ids(["<S>", "abc"])).tolist() == [3, 5]


@torch.no_grad()
def test_trimming_changes_no_vector() -> None:
    options = BilmOptions(
        character_dim=4, filters=((1, 5), (3, 6), (7, 8)), highways=1, layers=1, cell_dim=8, projection_dim=8
    )
    encoder = TokenEncoder(options).double()
    torch.manual_seed(3)
    for parameter in encoder.parameters():
        parameter.uniform_(-1, 1)
    for length in range(50):
        rows = torch.from_numpy(character_ids(["x" * length, "y"]))
        trimmed = encoder(rows)
        full = encoder(torch.cat([rows, torch.zeros(1, 50, dtype=torch.long)]))[:2]  # zeros forbid trimming
        assert np.abs((trimmed - full).numpy()).max() < 1e-12
