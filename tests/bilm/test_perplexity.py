"""Perplexity against the definition: every sentence by itself, word by word, over the whole vocabulary."""

from __future__ import annotations

from math import exp, log

import pytest
import torch
from torch import Tensor

from elmo_bench.bilm.model import BiLM, batch_characters
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.bilm.training.objective import Softmax
from elmo_bench.bilm.training.perplexity import Perplexity, measure_perplexity
from elmo_bench.bilm.training.text import encode_sentences
from elmo_bench.data.text import SENTENCE_END, SENTENCE_START, UNKNOWN_WORD, TargetVocabulary
from elmo_bench.types import Words

OPTIONS = BilmOptions(
    character_dim=4,
    filters=((1, 4), (2, 6)),
    highways=1,
    layers=2,
    cell_dim=12,
    projection_dim=6,
    cell_clip=0.3,
)
SENTENCES: list[Words] = [("a", "b", "c"), ("b",), ("unheard", "a", "b", "b", "a", "c", "odd"), ("c", "a")]
VOCABULARY = TargetVocabulary((SENTENCE_END, SENTENCE_START, "b", "a", "c", UNKNOWN_WORD))


@pytest.fixture(scope="module")
def model() -> tuple[BiLM, Softmax]:
    """With weights large enough that context matters and clipping acts."""
    generator = torch.Generator().manual_seed(0)
    bilm, softmax = BiLM(OPTIONS, generator), Softmax(len(VOCABULARY), 6, generator)
    for parameter in [*bilm.parameters(), *softmax.parameters()]:
        parameter.data.add_(torch.randn(parameter.shape, generator=generator), alpha=0.4)
    return bilm, softmax


@torch.no_grad()
def losses_by_definition(model: tuple[BiLM, Softmax], words: Words) -> tuple[list[float], list[float]]:
    """-log p of each next word forwards and backwards, from the layers the published model has."""
    bilm, softmax = model
    marked = (SENTENCE_START, *words, SENTENCE_END)
    known = [word if word in VOCABULARY.words else UNKNOWN_WORD for word in marked]
    top = bilm(*batch_characters([words], OPTIONS.maximum_characters))[0][0, -1]  # (time, 2 * dim)

    def loss(output: Tensor, target: str) -> float:
        scores = [float(row @ output + bias) for row, bias in zip(softmax.weight, softmax.bias, strict=True)]
        return log(sum(map(exp, scores))) - scores[VOCABULARY.words.index(target)]

    dim = OPTIONS.projection_dim
    ahead = [loss(top[place, :dim], known[place + 1]) for place in range(len(marked) - 1)]
    back = [loss(top[place, dim:], known[place - 1]) for place in range(1, len(marked))]
    return ahead, back


def expected(model: tuple[BiLM, Softmax], sentences: list[Words]) -> tuple[float, float, float]:
    pairs = [losses_by_definition(model, words) for words in sentences]
    ahead, back = ([loss for pair in pairs for loss in pair[direction]] for direction in (0, 1))
    means = sum(ahead) / len(ahead), sum(back) / len(back)
    return exp(means[0]), exp(means[1]), exp(sum(means) / 2)


def measure(model: tuple[BiLM, Softmax], sentences: list[Words], longest: int | None = None) -> Perplexity:
    return measure_perplexity(*model, encode_sentences(sentences), VOCABULARY, longest)


@pytest.mark.parametrize("longest", [None, 2])
def test_perplexity_is_its_definition(model: tuple[BiLM, Softmax], longest: int | None) -> None:
    found = measure(model, SENTENCES, longest)
    cut = [words[:longest] for words in SENTENCES]
    forward, backward, average = expected(model, cut)
    assert found.forward == pytest.approx(forward, rel=1e-5)
    assert found.backward == pytest.approx(backward, rel=1e-5)
    assert found.average == pytest.approx(average, rel=1e-5)
    assert abs(forward - backward) > 0.1  # the directions are not mistaken for each other
    tokens = sum(map(len, cut))
    assert (found.tokens, found.predictions) == (tokens, tokens + len(cut))
    unknown = sum(word in ("unheard", "odd") for words in cut for word in words)
    assert found.oov_rate == unknown / tokens
    assert found.vocabulary_sha256 == VOCABULARY.sha256 and found.longest == longest


def test_perplexity_depends_on_neither_order_nor_dropout(model: tuple[BiLM, Softmax]) -> None:
    model[0].train()
    first = measure(model, SENTENCES)
    assert model[0].training  # as it was
    model[0].eval()
    again = measure(model, SENTENCES[::-1])
    assert again.average == pytest.approx(first.average, rel=1e-6)


def test_a_softmax_that_knows_nothing_has_the_vocabulary_as_its_perplexity() -> None:
    softmax = Softmax(len(VOCABULARY), 6)
    softmax.weight.data.zero_()
    found = measure((BiLM(OPTIONS, torch.Generator().manual_seed(0)), softmax), SENTENCES)
    assert found.forward == found.backward == pytest.approx(len(VOCABULARY), rel=1e-6)
