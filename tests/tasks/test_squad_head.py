"""The SQuAD head on given mixed tokens."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.tasks.squad.attention import MASKED_SCORE, BiAttention, SelfAttention, TrilinearScore
from elmo_bench.tasks.squad.head import SquadHead, SquadHeadSettings, best_spans
from elmo_bench.tensors import Batch, Injected, Stream, Widths
from elmo_bench.types import Prediction
from tests.support.composition import head_settings
from tests.support.head_batches import ABSENT, PLACES, padded, words

CHARACTERS = Vocabulary.open("abcdefgh")
LONGEST = 3
QUESTIONS = [  # context, question, first and last token of the answer
    ("a b c d e f g", "h a", 1, 2),
    ("a b c d e f g", "h b c d", 4, 4),
    ("f", "a", 0, 0),
    ("c h a d", "g g f", 1, 3),
]


@dataclass(frozen=True)
class Asked:
    """One question: its fields, and its features by stream and place."""

    id: str
    fields: dict[str, Tensor]
    features: dict[str, tuple[Tensor, Tensor]]  # at_input and at_output, (time, features)


def build(widths: Widths, word_dim: int = 4) -> SquadHead:
    torch.manual_seed(0)
    settings = head_settings(
        SquadHeadSettings,
        "squad",
        character_dim=3,
        character_filters=5,
        character_width=3,
        hidden=6,
        longest_answer=LONGEST,
    )
    return SquadHead(settings, Vocabularies(words(word_dim), {"characters": CHARACTERS}), widths)


def rows(widths: Widths) -> list[Asked]:
    generator = torch.Generator().manual_seed(2)
    made = []
    for context, question, first, last in QUESTIONS:
        texts = {"context": tuple(context.split()), "question": tuple(question.split())}
        places = torch.arange(len(texts["context"]))
        fields = {
            "span": torch.tensor([first, last]),
            "offsets": torch.stack([2 * places, 2 * places + 1], dim=1),
            "context_text": torch.tensor(list(map(ord, context))),
        }
        features = {}
        for name, text in texts.items():
            fields[f"{name}_words"] = words().ids(text)
            fields[f"{name}_characters"] = torch.tensor([[CHARACTERS.id_of(c)] for c in text])
            at_input, at_output = (
                torch.randn(len(text), width, generator=generator) for width in vars(widths).values()
            )
            features[name] = at_input, at_output
        made.append(Asked(f"{context} {question}", fields, features))
    return made


def collate(asked: Sequence[Asked], extra: int = 0, junk: float = 0.0) -> tuple[dict[str, Injected], Batch]:
    """A batch padded by `extra` more than needed, with `junk` as the features of padding."""
    injected, streams = {}, {}
    for name in ("context", "question"):
        lengths = [len(row.features[name][0]) for row in asked]
        mask = torch.arange(max(lengths) + extra) < torch.tensor(lengths).unsqueeze(1)
        places = []
        for place in range(2):
            whole = torch.full((*mask.shape, asked[0].features[name][place].shape[1]), junk)
            whole[mask] = torch.cat([row.features[name][place] for row in asked])
            places.append(whole)
        injected[name] = Injected(places[0], places[1], mask)
        streams[name] = Stream(torch.zeros(len(asked), 0, mask.shape[1], 0), mask, (1,) * len(asked))
    fields = {
        name: torch.stack([row.fields[name] for row in asked])
        if name == "span"
        else widened([row.fields[name] for row in asked], extra)
        for name in asked[0].fields
    }
    return injected, Batch(tuple(row.id for row in asked), streams, fields)


def widened(tensors: Sequence[Tensor], extra: int) -> Tensor:
    """Padded with zeros to the longest, and by `extra` beyond it."""
    whole = padded(tensors, 0)
    return torch.cat([whole, whole.new_zeros(len(whole), extra, *whole.shape[2:])], dim=1)


def predictions(
    head: SquadHead, asked: Sequence[Asked], extra: int = 0, junk: float = 0.0
) -> list[Prediction]:
    injected, batch = collate(asked, extra, junk)
    return list(head.decode(head(injected, batch), batch))


@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_gradients_reach_everything(widths: Widths) -> None:
    # one word leaves no choice to learn
    asked = [row for row in rows(widths) if len(row.fields["offsets"]) > 1]
    head, (injected, batch) = build(widths), collate(asked, extra=1)
    head.dropout.rate = 0.0  # a word seen through a dropped feature alone would have no part
    for text in injected.values():
        text.at_input.requires_grad_(True)
        text.at_output.requires_grad_(True)
    head(injected, batch).loss.backward()
    for name, parameter in head.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    for text in injected.values():
        for features in (text.at_input, text.at_output):
            if features.numel():
                assert features.grad is not None
                assert (features.grad.abs().sum(2) > 0).equal(text.mask)


@pytest.mark.parametrize("word_dim", [0, 4])
@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_padding_and_order_change_nothing(widths: Widths, word_dim: int) -> None:
    head, asked = build(widths, word_dim).eval(), rows(widths)
    injected, batch = collate(asked)
    plain = head(injected, batch)
    found = head.decode(plain, batch)
    wider = head(*collate(asked, extra=3, junk=1e3))
    torch.testing.assert_close(wider.loss, plain.loss, rtol=1e-6, atol=1e-6)
    assert predictions(head, asked, extra=3, junk=1e3) == found
    order = torch.randperm(len(asked), generator=torch.Generator().manual_seed(1)).tolist()
    assert predictions(head, [asked[place] for place in order]) == [found[place] for place in order]
    assert [predictions(head, [row])[0] for row in asked] == found


def test_a_tiny_set_is_learnt_by_heart() -> None:
    for widths in (ABSENT, Widths(6, 6)):
        head, asked = build(widths), rows(widths)
        optimiser = torch.optim.Adam(head.parameters(), lr=0.02)
        for _ in range(150):
            optimiser.zero_grad()
            head(*collate(asked)).loss.backward()
            optimiser.step()
        assert predictions(head.eval(), asked) == [
            " ".join(context.split()[first : last + 1]) for context, _, first, last in QUESTIONS
        ]


def test_dropout_acts_in_training_only() -> None:
    head, asked = build(ABSENT), rows(ABSENT)
    first, second = (head(*collate(asked)).loss for _ in range(2))
    assert first != second
    head.eval()
    assert head(*collate(asked)).loss == head(*collate(asked)).loss


@pytest.mark.parametrize(("time", "longest"), list(itertools.product([1, 2, 5], [1, 2, 3, 17])))
def test_the_best_span_is_the_one_an_exhaustive_search_finds(time: int, longest: int) -> None:
    generator = torch.Generator().manual_seed(time)
    for length in range(1, time + 1):
        start, end = (torch.randn(20, time, generator=generator) for _ in range(2))
        start[:, length:] = end[:, length:] = MASKED_SCORE
        for row, found in enumerate(best_spans(start, end, longest).tolist()):
            legal = [(a, b) for a in range(length) for b in range(a, length) if b - a < longest]
            assert tuple(found) == max(legal, key=lambda span: start[row, span[0]] + end[row, span[1]])


def test_the_answer_is_cut_from_the_original_text() -> None:
    head, asked = build(ABSENT), rows(ABSENT)[:1]
    asked[0].fields["context_text"] = torch.tensor(list(map(ord, "Ärger, 12 %? ")))
    asked[0].fields["offsets"] = torch.tensor([[0, 5], [5, 6], [7, 9], [10, 11], [11, 12], [0, 0], [0, 0]])
    _, batch = collate(asked)
    scores = torch.full((1, 7), -9.0)
    starts, ends = scores.clone(), scores.clone()
    starts[0, 2], ends[0, 3] = 1, 1
    output = head(*collate(asked))
    output.scores["start"].data, output.scores["end"].data = starts, ends
    assert head.decode(output, batch) == ["12 %"]


def test_probabilities_are_of_real_tokens_only_and_sum_to_one() -> None:
    head, asked = build(ABSENT).eval(), rows(ABSENT)
    injected, batch = collate(asked, extra=2)
    for chances in head.probabilities(head(injected, batch), batch).values():
        torch.testing.assert_close(chances.sum(1), torch.ones(len(asked)))
        assert (chances > 0).equal(injected["context"].mask)


def score_pair(layer: TrilinearScore, x: Tensor, y: Tensor) -> Tensor:
    return layer.of_x @ x + layer.of_y @ y + layer.of_both @ (x * y)


def masks() -> tuple[Tensor, Tensor]:
    return torch.arange(5) < torch.tensor([[5], [1], [3]]), torch.arange(3) < torch.tensor([[2], [3], [1]])


def test_attention_both_ways_is_its_formula_word_by_word() -> None:
    torch.manual_seed(0)
    layer = BiAttention(4)
    context_mask, question_mask = masks()
    context, question = torch.randn(3, 5, 4), torch.randn(3, 3, 4)
    ours = layer(context, context_mask, question, question_mask)
    for row in range(3):
        asked = question[row][question_mask[row]]
        told = context[row][context_mask[row]]
        scores = torch.stack([torch.stack([score_pair(layer.score, c, q) for q in asked]) for c in told])
        seen = scores.max(1).values.softmax(0) @ told
        for place, c in enumerate(told):
            found = scores[place].softmax(0) @ asked
            torch.testing.assert_close(ours[row, place], torch.cat([c, found, c * found, c * seen]))


def test_attention_within_is_its_formula_word_by_word() -> None:
    torch.manual_seed(0)
    layer, (mask, _) = SelfAttention(4), masks()
    nn.init.constant_(layer.bias, 0.3)
    x = torch.randn(3, 5, 4)
    ours = layer(x, mask)
    for row in range(3):
        told = x[row][mask[row]]
        for place, word in enumerate(told):
            weights = torch.stack([(score_pair(layer.score, word, o) + layer.bias).exp() for o in told])
            weights[place] = 0
            attended = weights @ told / (weights.sum() + layer.nothing.exp())
            torch.testing.assert_close(ours[row, place], torch.cat([attended, word, attended * word]))
