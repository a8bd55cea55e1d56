"""The linear probe on given mixed tokens."""

from __future__ import annotations

import pytest
import torch

from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.tasks.pos import PosHead
from elmo_bench.tensors import Widths
from elmo_bench.types import UsageError
from tests.support.head_batches import ABSENT, Row, assert_sound, collate, fit, make_rows, predictions, words

SENTENCES = [("a b c d e", "D N V D N"), ("f", "N"), ("g a h", "V D N")]
TAGS = Vocabulary.closed("DNV")
INPUT = Widths(6, 0)


def build(widths: Widths, word_dim: int = 4) -> PosHead:
    torch.manual_seed(0)
    return PosHead(Vocabularies(words(word_dim), {"tags": TAGS}), widths)


def rows(widths: Widths) -> list[Row]:
    def fields(text: str, tags: str) -> dict[str, torch.Tensor]:
        return {"words": words().ids(tuple(text.split())), "tags": torch.tensor(TAGS.ids(tags.split()))}

    return make_rows(((text, fields(text, tags)) for text, tags in SENTENCES), widths)


@pytest.mark.parametrize(("widths", "word_dim"), [(ABSENT, 4), (INPUT, 0), (INPUT, 4)], ids=str)
def test_a_probe_behaves_and_learns_a_tiny_set_by_heart(widths: Widths, word_dim: int) -> None:
    head, examples = build(widths, word_dim), rows(widths)
    assert_sound(head, examples)
    fit(head, examples, steps=200, rate=0.05)
    assert predictions(head, examples) == [tags.split() for _, tags in SENTENCES]


def test_a_token_sees_nothing_but_itself() -> None:
    head, row = build(INPUT), rows(INPUT)[0]
    changed = row.at_input.clone()
    changed[2] += 1
    before, after = (
        head(*collate([Row(row.id, row.fields, x, row.at_output)])).scores["tags"][0]
        for x in (row.at_input, changed)
    )
    assert (before == after).all(1).tolist() == [True, True, False, True, True]


def test_loss_is_the_mean_over_tokens() -> None:
    head, examples = build(INPUT), rows(INPUT)
    alone = [head(*collate([row])).loss * len(row.at_input) for row in examples]
    tokens = sum(len(row.at_input) for row in examples)
    torch.testing.assert_close(head(*collate(examples)).loss, torch.stack(alone).sum() / tokens)


def test_without_any_features_the_commonest_tag_is_learnt() -> None:
    head, examples = build(ABSENT, word_dim=0), rows(ABSENT)
    fit(head, examples)
    assert {tag for row in predictions(head, examples) for tag in row} == {"N"}


def test_there_is_no_place_at_the_output() -> None:
    with pytest.raises(UsageError, match=r"elmo\.where"):
        build(Widths(0, 6))
