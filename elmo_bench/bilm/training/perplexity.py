"""How well a biLM predicts a text: perplexity over the whole vocabulary, each direction by itself.

A text is measured twice. In one reading every sentence starts from a fresh state, as sentences do when the
encoder is used. In the other the state is carried through the whole text, as the authors measure (`test` of
bilm-tf, with a single row). Both readings predict the same words: every token and every sentence's end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp

import numpy as np
import torch

from elmo_bench.bilm.training.batches import SentenceBatches, TextBatch, TokenTable, read_through
from elmo_bench.bilm.training.language_model import LanguageModel
from elmo_bench.bilm.training.objective import measure_shares
from elmo_bench.bilm.training.step_input import Carried, CharacterTable, as_tensors, top_outputs
from elmo_bench.bilm.training.text import EncodedText
from elmo_bench.data.text import UNKNOWN_WORD
from elmo_bench.types import BenchError

TOKENS_PER_BATCH = 4096


@dataclass(frozen=True)
class Figures:
    """The perplexity of one reading of a text."""

    forward: float
    backward: float
    average: float  # of the mean of the two losses, as the authors' script has it
    predictions: int  # per direction, each sentence's end included


@dataclass(frozen=True)
class Perplexity(Figures):
    """Of a text, each sentence from a fresh state; figures of the same vocabulary hash can be compared."""

    tokens: int
    oov_rate: float  # share of the tokens that count as <UNK>
    vocabulary_sha256: str
    carried: Figures  # the same text, the state carried from sentence to sentence


def measure_perplexity(model: LanguageModel, text: EncodedText) -> Perplexity:
    """Both readings of a text, in the weights' own precision."""
    table = TokenTable(text, model.vocabulary)
    tokens = int(table.lengths.sum())
    fresh = measure_fresh(model, text)
    return Perplexity(
        forward=fresh.forward,
        backward=fresh.backward,
        average=fresh.average,
        predictions=fresh.predictions,
        tokens=tokens,
        oov_rate=table.count_targets(model.vocabulary.number(UNKNOWN_WORD)) / tokens,
        vocabulary_sha256=model.vocabulary.sha256,
        carried=measure_carried(model, text),
    )


def measure_fresh(model: LanguageModel, text: EncodedText) -> Figures:
    """Every sentence from a fresh state."""
    batches = SentenceBatches(TokenTable(text, model.vocabulary), TOKENS_PER_BATCH, seed=0)
    steps = (batches.batch(0, step) for step in range(batches.steps(0)))
    return _measure(model, text, steps, carries=False)


def measure_carried(model: LanguageModel, text: EncodedText, window: int = TOKENS_PER_BATCH) -> Figures:
    """The text as one row in its own order; what is in memory at once is a window of it."""
    steps = read_through(TokenTable(text, model.vocabulary), window)
    return _measure(model, text, steps, carries=True)


@torch.no_grad()
def _measure(model: LanguageModel, text: EncodedText, steps: Iterable[TextBatch], carries: bool) -> Figures:
    """Without dropout, whatever the mode of the model; it is left as it was."""
    bilm, softmax = model.bilm, model.softmax
    was_training = bilm.training
    bilm.eval()
    characters = CharacterTable(text.types, bilm.options.maximum_characters)
    sums, predictions = np.zeros(2), 0
    carried: Carried | None = None
    for batch in steps:
        step = as_tensors(batch, characters).to(softmax.bias.device)
        outputs, states = top_outputs(bilm, step, carried)
        carried = states if carries else None
        shares = measure_shares(softmax, outputs, torch.cat([d.targets for d in step.directions]))
        sums += shares.view(2, -1).double().sum(dim=1).cpu().numpy()
        predictions += step.predictions
    bilm.train(was_training)
    forward, backward = sums / predictions
    return Figures(
        _perplexity(forward), _perplexity(backward), _perplexity((forward + backward) / 2), predictions
    )


def _perplexity(loss: float) -> float:
    """exp of the mean loss; a model that has diverged has none."""
    try:
        return exp(loss)
    except OverflowError:
        raise BenchError(
            f"expected a perplexity, got a loss of {loss:.4g} per word, whose exponential is too large for a "
            "number: the training has diverged; lower bilm.descent.lr"
        ) from None
