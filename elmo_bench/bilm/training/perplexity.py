"""How well a biLM predicts a text: perplexity over the whole vocabulary, each direction by itself."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np
import torch

from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.training.batches import SentenceBatches, TokenTable
from elmo_bench.bilm.training.objective import Softmax, measure_shares
from elmo_bench.bilm.training.step_input import CharacterTable, as_tensors, top_outputs
from elmo_bench.bilm.training.text import EncodedText
from elmo_bench.data.text import UNKNOWN_WORD, TargetVocabulary

TOKENS_PER_BATCH = 4096


@dataclass(frozen=True)
class Perplexity:
    """How well both directions predict a text; only figures with the same vocabulary hash compare."""

    forward: float
    backward: float
    average: float  # of the mean of the two losses, as the authors' script has it
    predictions: int  # per direction, each sentence's end included
    tokens: int
    oov_rate: float  # share of the tokens that count as <UNK>
    vocabulary_sha256: str
    longest: int | None  # tokens after that many of a sentence were left out


@torch.no_grad()
def measure_perplexity(
    bilm: BiLM,
    softmax: Softmax,
    text: EncodedText,
    vocabulary: TargetVocabulary,
    longest: int | None = None,
) -> Perplexity:
    """Every sentence from a fresh state, its end predicted too, in the weights' own precision."""
    was_training = bilm.training
    bilm.eval()
    table = TokenTable(text, vocabulary, longest)
    characters = CharacterTable(text.types, bilm.options.maximum_characters)
    batches = SentenceBatches(table, TOKENS_PER_BATCH, seed=0)
    device = softmax.bias.device
    sums, predictions = np.zeros(2), 0
    for number in range(batches.steps(0)):
        step = as_tensors(batches.batch(0, number), characters).to(device)
        targets = torch.cat([direction.targets for direction in step.directions])
        shares = measure_shares(softmax, top_outputs(bilm, step)[0], targets)
        sums += shares.view(2, -1).double().sum(dim=1).cpu().numpy()
        predictions += step.predictions
    bilm.train(was_training)
    tokens = int(table.lengths.sum())
    return Perplexity(
        forward=exp(sums[0] / predictions),
        backward=exp(sums[1] / predictions),
        average=exp(sums.sum() / (2 * predictions)),
        predictions=predictions,
        tokens=tokens,
        oov_rate=table.count_targets(vocabulary.number(UNKNOWN_WORD)) / tokens,
        vocabulary_sha256=vocabulary.sha256,
        longest=longest,
    )
