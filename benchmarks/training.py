"""How fast a training step is beside a plain implementation of the same step.

python -m benchmarks.training            the small published size, some minutes
python -m benchmarks.training --quick    one round on fewer tokens

Every round takes one step of every way on the same sentences with the same negatives, one after the other:
loss, gradients, clipping and optimiser. Figures are medians over the rounds, ratios are taken inside a
round. With one thread, the default, processor time is counted instead of the clock. The plain way sees no
padding, and adds up its gradients over shares of a batch, for it needs some 2.5 GB per thousand tokens.
It runs in a process of its own with memory as the system hands it out; it is measured with freed memory
kept too, as pre-training does, so that what the arithmetic alone gains can be told.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.embedding import SIZES, TEXT, read_text, spell_everywhere
from benchmarks.plain import sampled_softmax
from benchmarks.timing import now, ratio
from elmo_bench.bilm.model import BiLM, LstmStack, ProjectedLstm
from elmo_bench.bilm.training.arithmetic import Arithmetic
from elmo_bench.bilm.training.batches import SentenceBatches, TextBatch, TokenTable
from elmo_bench.bilm.training.objective import (
    Negatives,
    Softmax,
    draw_negatives,
    sampled_loss,
)
from elmo_bench.bilm.training.step_input import CharacterTable, as_tensors, top_outputs
from elmo_bench.bilm.training.text import EncodedText, encode_sentences
from elmo_bench.data.text import TargetVocabulary
from elmo_bench.training.memory import keep_freed_memory

VOCABULARY, NEGATIVES, DROPOUT = 50_000, 8192, 0.1
TEXT_TOKENS = 200_000
PLAIN_TOKENS = 1024  # of a share
CLIP, LEARNING_RATE = 10.0, 1e-3
PLAIN, KEPT, OURS, HALF = "plain", "plain, memory kept", "ours", "ours bf16"
AIMS = {OURS: 5.0, HALF: 9.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1,024 tokens a step, one round")
    parser.add_argument("--size", choices=tuple(SIZES), default="small")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=None, help="default: 3, quick: 1")
    parser.add_argument("--tokens", type=int, default=None, help="of a step; default: 4,096, quick: 1,024")
    parser.add_argument("--text", type=Path, default=TEXT, help="tokenised sentences; generated where absent")
    parser.add_argument("--plain-round", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rounds = options.rounds or (1 if options.quick else 3)
    tokens = options.tokens or (1024 if options.quick else 4096)
    text = encode_sentences(read_text(options.text, TEXT_TOKENS))
    bench = Bench.build(options.size, text, tokens)
    if options.plain_round is not None:
        bench.compare_losses()
        print(bench.rate(KEPT, options.plain_round))
        return
    keep_freed_memory()
    command = [sys.executable, "-m", "benchmarks.training", *sys.argv[1:], "--plain-round"]
    report(bench, rounds, lambda number: float(subprocess.check_output([*command, str(number)])))


@dataclass(frozen=True)
class Learner:
    """One copy of the model with its optimiser, and the way it computes its loss."""

    bilm: BiLM
    softmax: Softmax
    optimiser: torch.optim.Optimizer
    loss: Callable[[BiLM, Softmax, TextBatch, Negatives], Tensor]

    def step(self, shares: Sequence[TextBatch], seed: int) -> float:
        """One step on the shares of one batch; gives the loss per prediction."""
        negatives = draw_negatives(NEGATIVES, VOCABULARY, [seed])
        self.optimiser.zero_grad()
        total = 0.0
        for share in shares:
            loss = self.loss(self.bilm, self.softmax, share, negatives) / (2 * share.predictions)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        parameters = [*self.bilm.parameters(), *self.softmax.parameters()]
        nn.utils.clip_grad_norm_(parameters, CLIP)
        self.optimiser.step()
        return total


@dataclass(frozen=True)
class Bench:
    """The batches every way gets, and one learner for each."""

    size: str
    tokens: int
    batches: SentenceBatches
    few: SentenceBatches  # to compare losses on, and to warm up
    learners: dict[str, Learner]

    @classmethod
    def build(cls, size: str, text: EncodedText, tokens: int) -> Bench:
        table = TokenTable(text, pad_vocabulary(TargetVocabulary.of_frequent(text.types, VOCABULARY)))
        characters = CharacterTable(text.types, SIZES[size].maximum_characters)
        batches, few = SentenceBatches(table, tokens, seed=0), SentenceBatches(table, 256, seed=1)
        return cls(size, tokens, batches, few, build_learners(size, characters))

    def rate(self, name: str, number: int) -> float:
        """Tokens per second of one step on the batch of that number."""
        parts = -(-self.tokens // PLAIN_TOKENS) if name == KEPT else 1
        shares = [self.batches.batch(0, number, part, parts) for part in range(parts)]
        start = now()
        self.learners[name].step(shares, number)
        return shares[0].predictions / (now() - start)

    def compare_losses(self) -> str:
        """One step of each without dropout: how far the other losses are from the plain one."""
        losses = {}
        for name, learner in self.learners.items():
            learner.bilm.eval()
            losses[name] = learner.step([self.few.batch(0, 0)], 0)
            learner.bilm.train()
        return ", ".join(f"{name} {losses[name] / losses[KEPT] - 1:+.1e}" for name in (OURS, HALF))


def report(bench: Bench, rounds: int, plain_rate: Callable[[int], float]) -> None:
    """Measure every way and print the table."""
    difference = bench.compare_losses()
    rates: dict[str, list[float]] = {name: [] for name in (PLAIN, *bench.learners)}
    distinct = []
    for number in range(rounds):
        batch = bench.batches.batch(0, number)
        distinct.append(len(np.unique(batch.forward.inputs)) / batch.predictions)
        rates[PLAIN].append(plain_rate(number))
        for name in bench.learners:
            rates[name].append(bench.rate(name, number))
    print(
        f"{bench.size}: {bench.tokens:,} tokens a step, {statistics.median(distinct):.2f} distinct words per "
        f"token, vocabulary {VOCABULARY:,}, {NEGATIVES:,} negatives, {torch.get_num_threads()} threads, "
        f"{rounds} rounds"
    )
    print(f"{'way':20} {'tokens/s':>10} {'x plain':>9} {'x kept':>9} {'aim':>6}")
    for name, figures in rates.items():
        aim = f"{AIMS[name]:5.0f}x" if name in AIMS else ""
        shown = " ".join(f"{ratio(figures, rates[other]):8.1f}x" for other in (PLAIN, KEPT))
        print(f"{name:20} {statistics.median(figures):10,.0f} {shown} {aim}")
    print(f"first loss against plain, without dropout: {difference}")


def pad_vocabulary(vocabulary: TargetVocabulary) -> TargetVocabulary:
    """Words that never occur, so that the softmax has its size on any text."""
    more = (f"never {number}" for number in range(VOCABULARY - len(vocabulary)))
    return TargetVocabulary((*vocabulary.words, *more)[:VOCABULARY])


def build_learners(size: str, characters: CharacterTable) -> dict[str, Learner]:
    """Three copies of one model."""
    generator = torch.Generator().manual_seed(0)
    bilm = BiLM(SIZES[size], generator)
    softmax = Softmax(VOCABULARY, bilm.options.projection_dim, generator)

    def learner(loss: Callable[[BiLM, Softmax, TextBatch, Negatives], Tensor]) -> Learner:
        models = deepcopy(bilm), deepcopy(softmax)
        parameters = [parameter for model in models for parameter in model.parameters()]
        return Learner(*models, torch.optim.Adam(parameters, LEARNING_RATE, fused=True), loss)

    def ours(dtype: torch.dtype | None) -> Learner:
        arithmetic = Arithmetic(dtype, fast=True)

        def loss(bilm: BiLM, softmax: Softmax, batch: TextBatch, negatives: Negatives) -> Tensor:
            step = as_tensors(batch, characters)
            dropout = DROPOUT if bilm.training else 0.0
            outputs, _ = top_outputs(bilm, step, None, dropout, arithmetic)
            targets = torch.cat([direction.targets for direction in step.directions])
            return sampled_loss(softmax, outputs, targets, negatives, arithmetic)[0]

        return learner(loss)

    def plain(bilm: BiLM, softmax: Softmax, batch: TextBatch, negatives: Negatives) -> Tensor:
        stacks = bilm.forward_stack, bilm.backward_stack
        outputs = []
        for stack, direction in zip(stacks, (batch.forward, batch.backward), strict=True):
            rows = torch.from_numpy(characters.rows(direction.inputs).astype(np.int64))
            outputs.append(run_plainly(stack, spell_everywhere(bilm.token_encoder, rows), direction.counts))
        targets = torch.from_numpy(np.concatenate([batch.forward.targets, batch.backward.targets]))
        return sampled_softmax(softmax, torch.cat(outputs), targets, negatives, torch.float32)

    return {KEPT: learner(plain), OURS: ours(None), HALF: ours(torch.bfloat16)}


def run_plainly(stack: LstmStack, inputs: Tensor, counts: Sequence[int]) -> Tensor:
    """Packed inputs (tokens, dim) to the top outputs, autograd recording two products at every step."""
    dropout = DROPOUT if stack.training else 0.0
    for index, layer in enumerate(cast("list[ProjectedLstm]", list(stack.layers))):
        inputs = F.dropout(inputs, dropout)
        projected, cell = layer.zero_state(counts[0])
        steps = []
        for step in torch.split(inputs, list(counts)):
            gates = F.linear(step, layer.input_weight, layer.gate_bias)
            gates = gates + F.linear(projected[: len(step)], layer.state_weight)
            projected, cell = layer.step(gates, cell[: len(step)])
            steps.append(projected)
        outputs = torch.cat(steps)
        inputs = outputs + inputs if stack.use_skip_connections and index > 0 else outputs
    return F.dropout(inputs, dropout)


if __name__ == "__main__":
    main()
