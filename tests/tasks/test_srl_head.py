"""The SRL head on given mixed tokens."""

from __future__ import annotations

import pytest
import torch

from elmo_bench.data.tags import chunks_of
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.tasks.srl import SrlHead, SrlHeadSettings
from elmo_bench.tensors import Widths
from tests.support.composition import head_settings
from tests.support.head_batches import (
    ABSENT,
    PLACES,
    Row,
    assert_gradients_everywhere,
    assert_padding_and_order_change_nothing,
    collate,
    fit,
    make_rows,
    predictions,
    words,
)

PROPOSITIONS = [
    ("a b c d e", 1, "B-A0 B-V B-A1 I-A1 I-A1"),
    ("a b c d e", 3, "O O B-A0 B-V B-A1"),
    ("f", 0, "B-V"),
    ("g a h", 1, "B-A1 B-V O"),
]
TAGS = Vocabulary.closed(["O", *(f"{prefix}-{kind}" for kind in ("A0", "A1", "V") for prefix in "BI")])


def build(widths: Widths, word_dim: int = 4, layers: int = 4) -> SrlHead:
    torch.manual_seed(0)
    settings = head_settings(SrlHeadSettings, "srl", flag_dim=3, layers=layers, hidden=6, dropout=0.1)
    return SrlHead(settings, Vocabularies(words(word_dim), {"tags": TAGS}), widths)


def rows(widths: Widths) -> list[Row]:
    def fields(text: str, predicate: int, tags: str) -> dict[str, torch.Tensor]:
        tokens = tuple(text.split())
        return {
            "words": words().ids(tokens),
            "predicate": (torch.arange(len(tokens)) == predicate).long(),
            "tags": torch.tensor(TAGS.ids(tags.split())),
        }

    made = ((f"{text} {predicate}", fields(text, predicate, tags)) for text, predicate, tags in PROPOSITIONS)
    return make_rows(made, widths)


@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_gradients_reach_everything(widths: Widths) -> None:
    assert_gradients_everywhere(build(widths), rows(widths))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("word_dim", [0, 4])
@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_padding_and_order_change_nothing(widths: Widths, word_dim: int, layers: int) -> None:
    assert_padding_and_order_change_nothing(build(widths, word_dim, layers), rows(widths))


@pytest.mark.parametrize("layers", [3, 4])
def test_a_tiny_set_is_learnt_by_heart(layers: int) -> None:
    for widths in (ABSENT, Widths(6, 6)):
        head, examples = build(widths, layers=layers), rows(widths)
        fit(head, examples, steps=100)
        assert predictions(head, examples) == [
            [list(chunk) for chunk in chunks_of(tags.split())] for _, _, tags in PROPOSITIONS
        ]


@pytest.mark.parametrize(("layers", "reach"), [(1, [0, 0, 1, 1, 1]), (2, [1, 1, 1, 1, 1])])
def test_layers_read_in_alternating_directions(layers: int, reach: list[int]) -> None:
    # one layer carries a change of the third token to its right only; a second one brings it back
    head = build(Widths(6, 0), layers=layers).eval()
    row = rows(Widths(6, 0))[0]
    changed = row.at_input.clone()
    changed[2] += 1
    before, after = (
        head_scores(head, Row(row.id, row.fields, x, row.at_output)) for x in (row.at_input, changed)
    )
    assert [int(not same) for same in (before == after).all(1).tolist()] == reach


def head_scores(head: SrlHead, row: Row) -> torch.Tensor:
    return head(*collate([row])).scores["emissions"][0]  # (time, tags)


def test_every_gate_block_starts_orthogonal() -> None:
    for layer in build(Widths(20, 0)).layers:
        for weight, blocks in ((layer.enter, 6), (layer.recur, 5)):
            for block in weight.chunk(blocks):
                torch.testing.assert_close(block @ block.T, torch.eye(6), rtol=0, atol=1e-5)
        assert layer.bias.tolist() == [0.0] * 6 + [1.0] * 6 + [0.0] * 18


def test_dropout_acts_in_training_only() -> None:
    head, examples = build(ABSENT), rows(ABSENT)[:1]
    head.train()
    assert not head_scores(head, examples[0]).equal(head_scores(head, examples[0]))
    head.eval()
    assert head_scores(head, examples[0]).equal(head_scores(head, examples[0]))
