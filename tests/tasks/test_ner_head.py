"""The NER head on given mixed tokens."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from elmo_bench.data.tags import convert_tags
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.nn.layers import distinct_rows
from elmo_bench.tasks.ner import NerHead, NerHeadSettings
from elmo_bench.tensors import Widths
from tests.support.composition import head_settings
from tests.support.head_batches import (
    ABSENT,
    PLACES,
    Row,
    assert_gradients_everywhere,
    assert_padding_and_order_change_nothing,
    fit,
    make_rows,
    predictions,
    words,
)

SENTENCES = [
    ("a b c d e", "O B-X I-X I-X O"),
    ("f", "B-Y"),
    ("g a h", "O O B-X"),
    ("b c", "B-Y I-Y"),
]
TAGS = Vocabulary.closed(["O", *(f"{prefix}-{kind}" for kind in "XY" for prefix in "BILU")])
CHARACTERS = Vocabulary.open("abcdefgh")
SMALL = head_settings(
    NerHeadSettings,
    "ner",
    character_dim=4,
    character_filters=8,
    lower_hidden=6,
    upper_hidden=5,
    character_width=2,
    dropout=0.1,
)


def build(widths: Widths, word_dim: int = 4, settings: NerHeadSettings = SMALL) -> NerHead:
    torch.manual_seed(0)
    table = words(word_dim)
    return NerHead(settings, Vocabularies(table, {"characters": CHARACTERS, "tags": TAGS}), widths)


def rows(widths: Widths) -> list[Row]:
    def fields(text: str, tags: str) -> dict[str, torch.Tensor]:
        tokens = tuple(text.split())
        spelt = [CHARACTERS.ids(token * (place + 1)) for place, token in enumerate(tokens)]
        return {
            "words": words().ids(tokens),
            "characters": torch.nn.utils.rnn.pad_sequence([torch.tensor(word) for word in spelt], True),
            "tags": torch.tensor(TAGS.ids(convert_tags(tags.split(), "BIOUL"))),
        }

    return make_rows(((text, fields(text, tags)) for text, tags in SENTENCES), widths)


@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_gradients_reach_everything(widths: Widths) -> None:
    assert_gradients_everywhere(build(widths), rows(widths))


@pytest.mark.parametrize("word_dim", [0, 4])
@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_padding_and_order_change_nothing(widths: Widths, word_dim: int) -> None:
    assert_padding_and_order_change_nothing(build(widths, word_dim), rows(widths))


def test_a_tiny_set_is_learnt_by_heart() -> None:
    for widths in (ABSENT, Widths(6, 6)):
        head, examples = build(widths), rows(widths)
        fit(head, examples)
        assert predictions(head, examples) == [tags.split() for _, tags in SENTENCES]


def test_dropout_keeps_one_mask_per_sequence() -> None:
    head = build(Widths(6, 0))
    x = torch.ones(3, 7, 50)
    dropped = head.dropout.train()(x)
    assert dropped.equal(dropped[:, :1].expand_as(dropped))
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.9])
    assert head.dropout.eval()(x).equal(x)


def test_forgotten_words_teach_the_unknown_word() -> None:
    settings = replace(SMALL, word_dropout=0.5)
    head, ids = build(ABSENT, settings=settings), torch.tensor([[2, 3, 4, 5] * 50 + [0] * 50])
    torch.manual_seed(1)
    drawn = head.words.train()(ids)
    known, unknown = head.words.learnt[ids], head.words.learnt[1]
    assert drawn[:, 200:].equal(known[:, 200:])  # padding stays padding
    is_forgotten = (drawn == unknown).all(2)[:, :200]
    assert 70 < is_forgotten.sum() < 130
    assert drawn[:, :200][~is_forgotten].equal(known[:, :200][~is_forgotten])
    assert head.words.eval()(ids).equal(known)


def test_the_papers_sizes_are_the_default() -> None:
    head = build(Widths(1024, 0), word_dim=50, settings=head_settings(NerHeadSettings, "ner"))
    assert head.lower.inputs == 1202
    assert (head.lower.dim, head.upper.dim) == (400, 200)


@pytest.mark.parametrize("highest", [2, 300, 70_000])
def test_distinct_rows_are_those_of_torch_in_its_order(highest: int) -> None:
    drawn = torch.randint(0, highest, (40, 5), generator=torch.Generator().manual_seed(highest))
    rows = torch.cat([drawn, drawn[::3]])
    distinct, places = distinct_rows(rows)
    expected, expected_places = torch.unique(rows, dim=0, return_inverse=True)
    assert distinct.equal(expected) and places.equal(expected_places)
