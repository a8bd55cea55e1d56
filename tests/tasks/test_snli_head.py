"""The SNLI head on given mixed tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
import torch

from elmo_bench.data.snli import LABELS
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.nn.packing import Packing
from elmo_bench.tasks.snli import SnliHead, SnliHeadSettings, attend, pool
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths
from elmo_bench.types import UsageError
from tests.support.composition import head_settings, make_task
from tests.support.head_batches import ABSENT, PLACES, Row, collate, words

PAIRS = [
    ("a b c d e", "a b", "entailment"),
    ("a b c d e", "f", "neutral"),
    ("g", "g h a", "contradiction"),
    ("h b", "d c b a h g", "neutral"),
    ("e e", "b e", "entailment"),
]
VOCABULARY = Vocabulary.closed(LABELS)

Pair = tuple[Row, Row]


def build(widths: Widths, word_dim: int = 4, dropout: float = 0.5, l2: float = 1e-4) -> SnliHead:
    torch.manual_seed(0)
    settings = head_settings(
        SnliHeadSettings, "snli", hidden=6, dropout=dropout, attention_dropout=dropout, l2=l2
    )
    return SnliHead(settings, Vocabularies(words(word_dim), {"labels": VOCABULARY}), widths)


def pairs(widths: Widths) -> list[Pair]:
    generator = torch.Generator().manual_seed(2)

    def side(name: str, text: str, more: Mapping[str, torch.Tensor]) -> Row:
        tokens = tuple(text.split())
        features = [torch.randn(len(tokens), width, generator=generator) for width in vars(widths).values()]
        return Row(text, {name: words().ids(tokens), **more}, *features)

    return [
        (
            side("premise", premise, {}),
            side("hypothesis", hypothesis, {"label": torch.tensor(VOCABULARY.id_of(label))}),
        )
        for premise, hypothesis, label in PAIRS
    ]


def join(rows: Sequence[Pair], extra: int = 0, junk: float = 0.0) -> tuple[dict[str, Injected], Batch]:
    """Both sides of some pairs as one batch."""
    (premises, first), (hypotheses, second) = (collate(side, extra, junk) for side in zip(*rows, strict=True))
    streams = {"premise": first.streams["text"], "hypothesis": second.streams["text"]}
    batch = Batch(second.ids, streams, {**first.fields, **second.fields})
    return {"premise": premises["text"], "hypothesis": hypotheses["text"]}, batch


def run(head: SnliHead, rows: Sequence[Pair], extra: int = 0, junk: float = 0.0) -> HeadOutput:
    output: HeadOutput = head(*join(rows, extra, junk))
    return output


def decoded(head: SnliHead, rows: Sequence[Pair]) -> list[str]:
    return head.decode(run(head, rows), join(rows)[1])


@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_gradients_reach_everything(widths: Widths) -> None:
    head = build(widths, dropout=0.0)
    injected, batch = join(pairs(widths), extra=1)
    for side in injected.values():
        side.at_input.requires_grad_(True)
        side.at_output.requires_grad_(True)
    head(injected, batch).loss.backward()
    for name, parameter in head.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    for side in injected.values():
        for features in (side.at_input, side.at_output):
            if features.numel():
                assert features.grad is not None
                assert (features.grad.abs().sum(2) > 0).equal(side.mask)


@pytest.mark.parametrize("word_dim", [0, 4])
@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_padding_and_order_change_nothing(widths: Widths, word_dim: int) -> None:
    if word_dim == widths.at_input == 0:
        with pytest.raises(UsageError, match=r"words=none: .* needs elmo.where=input"):
            build(widths, word_dim)
        return
    head, rows = build(widths, word_dim).eval(), pairs(widths)
    plain = run(head, rows)
    scores = plain.scores["labels"]
    wider = run(head, rows, extra=3, junk=1e3)
    torch.testing.assert_close(wider.scores["labels"], scores, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(wider.loss, plain.loss, rtol=1e-6, atol=1e-6)
    order = [3, 0, 4, 2, 1]
    shuffled = run(head, [rows[place] for place in order]).scores["labels"]
    torch.testing.assert_close(shuffled, scores[order], rtol=1e-6, atol=1e-6)
    for row, expected in zip(rows, scores, strict=True):
        torch.testing.assert_close(run(head, [row]).scores["labels"][0], expected, rtol=1e-6, atol=1e-6)
    assert [decoded(head, [row])[0] for row in rows] == decoded(head, rows)


@pytest.mark.parametrize("widths", [ABSENT, Widths(6, 6)], ids=str)
def test_a_tiny_set_is_learnt_by_heart(widths: Widths) -> None:
    head, rows = build(widths, dropout=0.2), pairs(widths)
    optimiser = torch.optim.Adam([weight for weight in head.parameters() if weight.requires_grad], lr=0.02)
    head.train()
    for _ in range(80):
        optimiser.zero_grad()
        run(head, rows).loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    assert decoded(head.eval(), rows) == [label for _, _, label in PAIRS]


def test_attention_is_what_loops_over_words_say() -> None:
    torch.manual_seed(1)
    lengths = [(3, 2), (1, 4), (4, 4)]
    sides = [[torch.randn(length, 5) for length in column] for column in zip(*lengths, strict=True)]
    states, mask = torch.full((6, 5, 5), 1e3), torch.zeros(6, 5, dtype=torch.bool)
    for row, side in enumerate([*sides[0], *sides[1]]):
        states[row, : len(side)], mask[row, : len(side)] = side, True
    premise, hypothesis = states[:3], states[3:, :4]  # the longest hypothesis has four words
    attended = attend(premise, hypothesis, mask[:3], mask[3:, :4])
    for row, texts in enumerate(zip(*sides, strict=True)):
        check_attention(attended[0][row], *texts)
        check_attention(attended[1][row], *texts[::-1])


def check_attention(attended: torch.Tensor, own: torch.Tensor, other: torch.Tensor) -> None:
    """One word after the other: the softmax of its dot products, then the mean it weights."""
    for place, word in enumerate(own.tolist()):
        likeness = [sum(x * y for x, y in zip(word, answer, strict=True)) for answer in other.tolist()]
        shares = [math.exp(value) for value in likeness]
        for dim in range(other.shape[1]):
            pairs_of = zip(shares, other[:, dim].tolist(), strict=True)
            mean = sum(share * value for share, value in pairs_of) / sum(shares)
            assert attended[place, dim].item() == pytest.approx(mean, rel=1e-5, abs=1e-6)


def test_attention_sees_what_is_injected_at_the_output() -> None:
    head, rows = build(Widths(0, 6)).eval(), pairs(Widths(0, 6))[:1]
    injected, batch = join(rows)
    compared: list[torch.Tensor] = []
    head.attention_dropout.register_forward_pre_hook(lambda _, inputs: compared.append(inputs[0]))
    head(injected, batch)
    injected["hypothesis"].at_output[0, 1] += 1  # no LSTM below reads it
    head(injected, batch)
    before, after = (words_of.view(len(words_of), 4, -1) for words_of in compared)  # (words, parts, states)
    # words are packed: the first of both sides, the second of both sides, and so on
    premise = Packing.of(torch.arange(5) < torch.tensor([[5], [2]])).rows == 0
    before, after = before[premise], after[premise]
    assert before[:, 0].equal(after[:, 0])  # the premise's own words are as they were,
    assert not torch.isclose(before[:, 1, :12], after[:, 1, :12]).all(1).any()  # all attend to others


def test_pooling_takes_mean_and_maximum_of_real_words() -> None:
    states = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    assert pool(states, mask).tolist() == [[2.0, -3.0, 3.0, -2.0]]


def test_the_penalty_is_of_matrices_alone() -> None:
    light, heavy = build(Widths(6, 6), l2=0.0).eval(), build(Widths(6, 6), l2=0.5).eval()
    assert light.penalty().item() == 0.0
    weights = [
        weight
        for name, weight in heavy.named_parameters()
        if name.split(".")[-1].startswith("weight")  # of LSTMs and linear layers; word vectors are not
    ]
    assert len(weights) == 2 * 4 + 3
    total = sum(float((weight.detach() ** 2).sum()) for weight in weights)
    assert heavy.penalty().item() == pytest.approx(total / 2, rel=1e-5)
    rows = pairs(Widths(6, 6))
    gain = run(heavy, rows).loss.item() - run(light, rows).loss.item()
    assert gain == pytest.approx(total / 2, rel=1e-5)


@pytest.mark.parametrize("regularise", ["with_elmo", "always"])
@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_the_paper_regularises_the_larger_model_alone(widths: Widths, regularise: str) -> None:
    task = make_task("snli", head={"hidden": 6, "regularise": regularise})
    head = task.build_head(Vocabularies(words(), {"labels": VOCABULARY}), widths)
    assert isinstance(head, SnliHead)
    is_on = regularise == "always" or widths != ABSENT
    assert (head.penalty().item() > 0) == is_on
    assert head.attention_dropout.p == (0.5 if is_on else 0)
    assert head.dropout.rate == 0.5  # that of the LSTMs' inputs is in both models


def test_swapping_the_sides_changes_the_scores() -> None:
    # both are read by the same layers, yet a premise is not a hypothesis
    head, rows = build(ABSENT).eval(), pairs(ABSENT)
    swapped = [
        (
            Row("", {"premise": hypothesis.fields["hypothesis"]}, hypothesis.at_input, hypothesis.at_output),
            Row("", {"hypothesis": premise.fields["premise"], "label": hypothesis.fields["label"]},
                premise.at_input, premise.at_output),
        )
        for premise, hypothesis in rows
    ]  # fmt: skip
    assert not torch.allclose(run(head, swapped).scores["labels"], run(head, rows).scores["labels"])


def test_dropout_acts_in_training_only() -> None:
    head, rows = build(ABSENT), pairs(ABSENT)
    assert not run(head, rows).loss.equal(run(head, rows).loss)
    head.eval()
    assert run(head, rows).loss.equal(run(head, rows).loss)
