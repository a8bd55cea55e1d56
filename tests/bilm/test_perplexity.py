"""Perplexity against its definition: plain loops over words and vocabulary, for both readings of a text."""

from __future__ import annotations

import random
from math import exp, log
from typing import Any

import pytest
import torch
from torch import Tensor

from elmo_bench.bilm.model import BiLM, ProjectedLstm, batch_characters, character_ids
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.bilm.training.language_model import LanguageModel
from elmo_bench.bilm.training.objective import Softmax
from elmo_bench.bilm.training.perplexity import Figures, measure_carried, measure_fresh, measure_perplexity
from elmo_bench.bilm.training.text import encode_sentences
from elmo_bench.data.text import SENTENCE_END, SENTENCE_START, UNKNOWN_WORD, TargetVocabulary
from elmo_bench.types import BenchError, Words

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
def model() -> LanguageModel:
    """With weights large enough that context matters and clipping acts."""
    generator = torch.Generator().manual_seed(0)
    bilm, softmax = BiLM(OPTIONS, generator), Softmax(len(VOCABULARY), 6, generator)
    for parameter in [*bilm.parameters(), *softmax.parameters()]:
        parameter.data.add_(torch.randn(parameter.shape, generator=generator), alpha=0.4)
    return LanguageModel(bilm, softmax, VOCABULARY)


class Direction:
    """One direction of a model, read word by word with the formulas of `ProjectedLstm`."""

    def __init__(self, model: LanguageModel, is_forward: bool) -> None:
        self.model, self.is_forward = model, is_forward
        stack = model.bilm.forward_stack if is_forward else model.bilm.backward_stack
        self.layers = [layer for layer in stack.layers if isinstance(layer, ProjectedLstm)]
        self.forget()

    def forget(self) -> None:
        self.states = [layer.zero_state(1) for layer in self.layers]

    def losses(self, words: Words) -> list[float]:
        """-log p of each next word of a sentence, from wherever the state is."""
        marked = [SENTENCE_START, *words, SENTENCE_END][:: 1 if self.is_forward else -1]
        known = [word if word in VOCABULARY.words else UNKNOWN_WORD for word in marked]
        return [self.loss(read, target) for read, target in zip(marked[:-1], known[1:], strict=True)]

    @torch.no_grad()
    def loss(self, read: str, target: str) -> float:
        softmax = self.model.softmax
        vector = self.read(read)
        scores = [float(row @ vector + bias) for row, bias in zip(softmax.weight, softmax.bias, strict=True)]
        return log(sum(map(exp, scores))) - scores[VOCABULARY.words.index(target)]

    def read(self, word: str) -> Tensor:
        """The top layer after one more word."""
        ids = torch.from_numpy(character_ids([word], OPTIONS.maximum_characters))
        vector: Tensor = self.model.bilm.token_encoder(ids)  # (1, dim)
        for number, layer in enumerate(self.layers):
            projected, cell = self.states[number]
            gates = vector @ layer.input_weight.T + projected @ layer.state_weight.T + layer.gate_bias
            self.states[number] = layer.step(gates, cell)
            output = self.states[number][0]
            vector = output + vector if number > 0 else output
        return vector[0]


def by_definition(model: LanguageModel, sentences: list[Words], carries: bool) -> tuple[float, float, float]:
    """Forward, backward and average perplexity of a text."""
    means = []
    for is_forward in (True, False):
        direction, losses = Direction(model, is_forward), list[float]()
        for words in sentences:
            if not carries:
                direction.forget()
            losses += direction.losses(words)
        means.append(sum(losses) / len(losses))
    return exp(means[0]), exp(means[1]), exp(sum(means) / 2)


def close_to(expected: tuple[float, ...], rel: float = 1e-5) -> Any:
    return pytest.approx(expected, rel=rel)


def figures_of(found: Figures) -> tuple[float, float, float]:
    return found.forward, found.backward, found.average


def test_both_readings_of_a_text_are_their_definitions(model: LanguageModel) -> None:
    found = measure_perplexity(model, encode_sentences(SENTENCES))
    fresh, carried = (by_definition(model, SENTENCES, carries) for carries in (False, True))
    assert figures_of(found) == close_to(fresh)
    assert figures_of(found.carried) == close_to(carried)
    assert abs(fresh[0] - fresh[1]) > 0.1  # the directions are not mistaken for each other
    assert abs(fresh[2] - carried[2]) > 0.01  # and neither are the readings
    assert found.vocabulary_sha256 == VOCABULARY.sha256


def test_a_fresh_state_is_how_the_published_model_reads_a_sentence(model: LanguageModel) -> None:
    """The loops above against the layers of `BiLM.forward`."""
    dim = OPTIONS.projection_dim
    for words in SENTENCES:
        top = model.bilm(*batch_characters([words], OPTIONS.maximum_characters))[0][0, -1]  # (time, 2 * dim)
        for is_forward, expected in ((True, top[:, :dim]), (False, top[:, dim:].flip(0))):
            direction = Direction(model, is_forward)
            marked = [SENTENCE_START, *words, SENTENCE_END][:: 1 if is_forward else -1]
            found = torch.stack([direction.read(word) for word in marked])
            torch.testing.assert_close(found, expected)


def test_every_token_of_a_long_text_is_predicted_and_nothing_else(model: LanguageModel) -> None:
    chooser = random.Random(1)
    lengths = [1, 700, 2, 121, 400]
    sentences: list[Words] = [tuple(chooser.choices(["a", "b", "c", "odd"], k=length)) for length in lengths]
    found = measure_perplexity(model, encode_sentences(sentences))
    tokens = sum(lengths)
    assert found.tokens == tokens
    assert found.predictions == found.carried.predictions == tokens + len(sentences)
    assert found.oov_rate == sum(words.count("odd") for words in sentences) / tokens
    assert figures_of(found) == close_to(by_definition(model, sentences, carries=False))
    assert figures_of(found.carried) == close_to(by_definition(model, sentences, carries=True))


@pytest.mark.parametrize("window", [1, 3, 5, 16])
def test_windows_that_carry_the_state_give_what_the_uncut_text_gives(
    model: LanguageModel, window: int
) -> None:
    text = encode_sentences(SENTENCES)
    whole = measure_carried(model, text, window=10_000)
    cut = measure_carried(model, text, window=window)
    assert figures_of(cut) == close_to(figures_of(whole), rel=1e-6)
    assert cut.predictions == whole.predictions == sum(len(words) + 1 for words in SENTENCES)


def test_a_fresh_reading_does_not_depend_on_the_order_of_sentences(model: LanguageModel) -> None:
    first, again = (measure_fresh(model, encode_sentences(text)) for text in (SENTENCES, SENTENCES[::-1]))
    assert figures_of(again) == close_to(figures_of(first), rel=1e-6)
    first, again = (measure_carried(model, encode_sentences(text)) for text in (SENTENCES, SENTENCES[::-1]))
    assert figures_of(again) != close_to(figures_of(first), rel=1e-3)


def test_dropout_does_not_act_and_the_mode_stays(model: LanguageModel) -> None:
    text = encode_sentences(SENTENCES)
    expected = measure_fresh(model, text)
    model.bilm.train()
    assert measure_fresh(model, text) == expected
    assert model.bilm.training
    model.bilm.eval()


def test_a_model_that_has_diverged_is_an_error_with_a_remedy(model: LanguageModel) -> None:
    softmax = Softmax(len(VOCABULARY), 6)
    softmax.weight.data.copy_(1e6 * model.softmax.weight.data)
    diverged = LanguageModel(model.bilm, softmax, VOCABULARY)
    with pytest.raises(BenchError, match=r"the training has diverged; lower bilm\.descent\.lr"):
        measure_fresh(diverged, encode_sentences(SENTENCES))


def test_a_softmax_that_knows_nothing_has_the_vocabulary_as_its_perplexity() -> None:
    softmax = Softmax(len(VOCABULARY), 6)
    softmax.weight.data.zero_()
    model = LanguageModel(BiLM(OPTIONS, torch.Generator().manual_seed(0)), softmax, VOCABULARY)
    found = measure_perplexity(model, encode_sentences(SENTENCES))
    expected = pytest.approx(len(VOCABULARY), rel=1e-6)
    assert figures_of(found) == (expected,) * 3 == figures_of(found.carried)
