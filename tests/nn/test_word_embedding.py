"""A task's word vectors: only rows of training words are parameters, and nothing else changes by that."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from elmo_bench.data.vectors import WordVectors
from elmo_bench.data.word_table import WordTable, word_table
from elmo_bench.nn.layers import WordEmbedding

FILE = WordVectors(("the", "cat", "dog", "1987"), np.arange(8, dtype=np.float32).reshape(4, 2) + 1)


def table(trainable: bool = True) -> WordTable:
    """Training knows `cat`, `The` as `the`, a number, and a word that the file lacks."""
    return word_table("file", FILE, ["The", "cat", "zebra", "12"], 0, seed=1, trainable=trainable)


def test_the_rows_of_training_words_are_known() -> None:
    words = table()
    assert words.in_training is not None
    named = {"<padding>", "<unknown>", "the", "cat", "<number>", "zebra"}
    assert {("<padding>", "<unknown>", *words.words)[row] for row in words.in_training} == named


def test_every_row_is_found_whether_it_can_learn_or_not() -> None:
    for words in (table(), table(trainable=False)):
        ids = torch.arange(len(words.matrix))[None]
        assert torch.equal(WordEmbedding(words).eval()(ids)[0], words.matrix)


def test_a_step_changes_what_a_step_over_the_whole_table_changes() -> None:
    words = table()
    ids = torch.stack([words.ids(["The", "cat", "zebra"]), words.ids(["cat", "cat", "12"])])
    ids[0, 2] = 0  # padding
    embedding, whole = WordEmbedding(words).train(), words.matrix.clone().requires_grad_()
    assert embedding.learnt is not None
    optimisers = [torch.optim.Adam([weight], lr=0.1) for weight in (embedding.learnt, whole)]
    for _ in range(3):
        for optimiser, vectors in zip(
            optimisers, (embedding(ids), F.embedding(ids, whole, padding_idx=0)), strict=True
        ):
            optimiser.zero_grad()
            (vectors.square().sum() + vectors.sum()).backward()
            optimiser.step()
    every = torch.arange(len(words.matrix))[None]
    torch.testing.assert_close(embedding.eval()(every)[0], whole.detach(), rtol=0, atol=1e-6)
    assert not torch.equal(whole.detach(), words.matrix)
