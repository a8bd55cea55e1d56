"""What ten NER runs of ten epochs cost when the store is read, beside runs that compute ELMo in every step.

python -m benchmarks.sweep                  both published sizes, some minutes
python -m benchmarks.sweep --size small     one of them

Timed on the same batches: the head's training step and its decoding as they read the store, the plain
reference way of computing the biLM, and our own engine doing so with its table of words warm. Each takes
the batches in a row, as a run does, after a pass over them that is not counted: a step right after
gigabytes of another's work finds neither its caches nor its memory, and no run mixes them. The filling of
the store is timed once. Seconds per token are extrapolated to CoNLL-2003 and ten runs: in each, ten
epochs of training with an evaluation on the dev set after each, and one on the test set. The head is of
the paper's size and costs the same in all three. Figures are medians over the batches; with one thread
processor time is counted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from benchmarks.embedding import SIZES, build_model, reference_layers
from benchmarks.steps import TaskSteps, build_steps
from benchmarks.timing import seconds_of
from elmo_bench.bilm.engine.embedder import Embedder
from elmo_bench.bilm.model import BiLM
from elmo_bench.encoders.protocol import Encoder, EncoderCard
from elmo_bench.encoders.store import Store
from elmo_bench.training.memory import keep_freed_memory
from elmo_bench.types import Words

RUNS, EPOCHS = 10, 10
TRAIN_TOKENS, DEV_TOKENS, TEST_TOKENS = 203_621, 51_362, 46_435  # of CoNLL-2003
TRAINED, EVALUATED = EPOCHS * TRAIN_TOKENS, EPOCHS * DEV_TOKENS + TEST_TOKENS  # in one run
AIMS = {"small": 15, "original": 30}
SENTENCES = {"small": 640, "original": 256}  # of the corpus that the store is filled with

Encode = Callable[[Sequence[Words]], object]


@dataclass(frozen=True)
class Costs:
    """Seconds per token of each part."""

    fill: float
    train: float  # the head's step, its layers read from the store
    evaluate: float  # the same for decoding
    reference: float
    engine: float

    @property
    def heads(self) -> float:
        """Hours of the sweep that the heads take, reading the store."""
        return RUNS * (TRAINED * self.train + EVALUATED * self.evaluate) / 3600

    @property
    def stored(self) -> float:
        """Hours of the sweep with the store, its filling with them."""
        return self.heads + self.fill * (TRAIN_TOKENS + DEV_TOKENS + TEST_TOKENS) / 3600

    def recomputed(self, encoding: float) -> float:
        """Hours of the sweep with an encoding in every step."""
        return self.heads + RUNS * (TRAINED + EVALUATED) * encoding / 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", choices=(*SIZES, "both"), default="both")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batches", type=int, default=8, help="how many each way is timed on")
    parser.add_argument("--data", default="open", help="where the sentences are from: open or sample")
    parser.add_argument("--words", default="glove", help="the word vectors of the head: glove or random")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    for size in SIZES if options.size == "both" else (options.size,):
        model = build_model(size)
        layer_count, dim = model.options.layers + 1, 2 * model.options.projection_dim
        words = ["task=ner", "size=paper", f"data={options.data}", f"words={options.words}"]
        steps = build_steps(words, layer_count, dim, limit=SENTENCES[size])
        costs = measure_bilm(model, steps, options.batches)
        report(size, steps, costs, options)
        print(f"  aim of the ratio to the reference way: 1/{AIMS[size]}", flush=True)


def measure_bilm(model: BiLM, steps: TaskSteps, count: int) -> Costs:
    """Our engine for a biLM beside the published implementations' way."""
    embedder = Embedder(model)
    card = EncoderCard(
        "benchmark", embedder.fingerprint, embedder.layer_count, embedder.dim, repeats_halves=True
    )
    return measure(card, embedder, lambda sentences: reference_layers(model, sentences, None), steps, count)


def measure(card: EncoderCard, encoder: Encoder, reference: Encode, steps: TaskSteps, count: int) -> Costs:
    """Every way on the same batches, so many counted."""
    text = steps.sentences
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory), card, lambda: encoder, progress=False, log=lambda _: None)
        fill = seconds_of(lambda: store.open("benchmark", text)) / sum(map(len, text))
        unit = store.open("benchmark", text)
        batches = planned_batches(steps, count)
        train = per_token(lambda numbers: steps.step(steps.collate(numbers, unit.batch)), steps, batches)
        evaluate = per_token(lambda numbers: steps.decode(steps.collate(numbers, unit.batch)), steps, batches)
    plain = per_token(lambda numbers: reference(texts(steps, numbers)), steps, batches)
    engine = per_token(lambda numbers: encoder.layers(texts(steps, numbers)), steps, batches)
    return Costs(fill, train, evaluate, plain, engine)


def per_token(work: Callable[[list[int]], object], steps: TaskSteps, batches: list[list[int]]) -> float:
    """The median of a work's seconds per token over the second pass through the batches."""
    seconds = [seconds_of(partial(work, numbers)) for numbers in [*batches, *batches]]
    tokens = [sum(map(len, texts(steps, numbers))) for numbers in batches]
    return statistics.median(
        took / count for took, count in zip(seconds[len(batches) :], tokens, strict=True)
    )


def texts(steps: TaskSteps, numbers: list[int]) -> list[Words]:
    """The sentences of a batch."""
    return [steps.examples[number].excerpts["text"][0].words for number in numbers]


def planned_batches(steps: TaskSteps, count: int) -> list[list[int]]:
    """The examples of the first batches of an epoch."""
    size = steps.config.task.training.batch_size
    order = torch.randperm(len(steps.examples), generator=torch.Generator().manual_seed(0)).tolist()
    wanted = [order[start : start + size] for start in range(0, len(order), size)]
    return [wanted[number % len(wanted)] for number in range(count)]


def report(name: str, steps: TaskSteps, costs: Costs, options: argparse.Namespace) -> None:
    """The parts, the sweep, and its ratios."""
    tokens = sum(map(len, steps.sentences))
    print(
        f"{name}: {tokens:,} tokens in {len(steps.examples):,} sentences, batches of "
        f"{steps.config.task.training.batch_size}, {options.threads} threads, {options.batches} timed"
    )
    for part, seconds in vars(costs).items():
        print(f"  {part:10} {1 / seconds:10,.0f} tokens/s")
    reference, engine = costs.recomputed(costs.reference), costs.recomputed(costs.engine)
    print(f"  {RUNS} runs of {EPOCHS} epochs from the store: {costs.stored:.2f} h")
    print(f"  the reference way in every step: {reference:.2f} h, ratio 1/{reference / costs.stored:.1f}")
    print(f"  our engine in every step: {engine:.2f} h, ratio 1/{engine / costs.stored:.1f}", flush=True)


if __name__ == "__main__":
    main()
