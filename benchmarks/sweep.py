"""What ten NER runs of ten epochs cost when the store is read, beside runs that compute ELMo in every step.

python -m benchmarks.sweep                  both published sizes, some minutes
python -m benchmarks.sweep --size small     one of them

Each round times on one batch the head's training step as it reads the store, the plain reference way of
computing the biLM for that batch, and our own engine doing so with its table of words warm; the filling of
the store is timed once. All but the filling is extrapolated from seconds per token to an epoch of CoNLL-2003
and from there to the sweep; evaluation is left out on all sides. The head is of the paper's size and costs
the same in all three. Figures are medians over the rounds; with one thread processor time is counted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.embedding import SIZES, build_model, now, reference_layers
from benchmarks.steps import TaskSteps, build_steps
from elmo_bench.bilm.engine import Embedder
from elmo_bench.bilm.model import BiLM
from elmo_bench.representations.encoder import EncoderCard
from elmo_bench.representations.store import Store, Unit
from elmo_bench.training.memory import keep_freed_memory
from elmo_bench.types import Words

RUNS, EPOCHS = 10, 10
EPOCH_TOKENS = 203_621  # of CoNLL-2003's training set
AIMS = {"small": 15, "original": 30}
SENTENCES = {"small": 640, "original": 256}  # of the corpus that the store is filled with


@dataclass(frozen=True)
class Costs:
    """Seconds per token of each part."""

    fill: float
    head: float  # the step, its layers read from the store
    reference: float
    engine: float

    @property
    def sweep(self) -> float:
        """Hours of the sweep with the store."""
        return self._hours(self.fill + RUNS * EPOCHS * self.head)

    def recomputed(self, encoding: float) -> float:
        """Hours of the sweep with an encoding in every step."""
        return self._hours(RUNS * EPOCHS * (self.head + encoding))

    @staticmethod
    def _hours(seconds_per_token: float) -> float:
        return seconds_per_token * EPOCH_TOKENS / 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", choices=(*SIZES, "both"), default="both")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="batches that each way is timed on")
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
        report(size, steps, measure(model, steps, options.rounds), options)


def measure(model: BiLM, steps: TaskSteps, rounds: int) -> Costs:
    """Every part on the same batches, one after the other."""
    embedder = Embedder(model)
    layer_count, dim = embedder.layer_count, embedder.dim
    card = EncoderCard("benchmark", embedder.fingerprint, layer_count, dim, repeats_halves=True)
    text = steps.sentences
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory), card, lambda: embedder, progress=False, say=lambda _: None)
        fill = seconds_of(lambda: store.open("benchmark", text)) / sum(map(len, text))
        unit = store.open("benchmark", text)
        per_token: dict[str, list[float]] = {"head": [], "reference": [], "engine": []}
        batches = planned_batches(steps, rounds + 1)
        read_and_step(steps, unit, batches[0])
        for numbers in batches[1:]:
            sentences = [steps.examples[number].sentences["text"][0] for number in numbers]
            for name, work in ways(model, embedder, steps, unit, numbers, sentences).items():
                per_token[name].append(seconds_of(work) / sum(map(len, sentences)))
    return Costs(fill, **{name: statistics.median(values) for name, values in per_token.items()})


def ways(
    model: BiLM, embedder: Embedder, steps: TaskSteps, unit: Unit, numbers: list[int], sentences: list[Words]
) -> dict[str, Callable[[], object]]:
    """The parts of a step: the head with its reading, and two ways of computing what it would read."""
    return {
        "head": lambda: read_and_step(steps, unit, numbers),
        "reference": lambda: reference_layers(model, sentences, None),
        "engine": lambda: embedder.layers(sentences),
    }


def planned_batches(steps: TaskSteps, count: int) -> list[list[int]]:
    """The examples of the first batches of an epoch."""
    size = steps.config.task.training.batch_size
    order = torch.randperm(len(steps.examples), generator=torch.Generator().manual_seed(0)).tolist()
    wanted = [order[start : start + size] for start in range(0, len(order), size)]
    return [wanted[number % len(wanted)] for number in range(count)]


def read_and_step(steps: TaskSteps, unit: Unit, numbers: list[int]) -> None:
    """Read the layers of a batch and train on it."""
    steps.step(steps.collate(numbers, unit.batch))


def seconds_of(work: Callable[[], object]) -> float:
    start = now()
    work()
    return now() - start


def report(size: str, steps: TaskSteps, costs: Costs, options: argparse.Namespace) -> None:
    """The parts, the sweep, and its ratios."""
    tokens = sum(map(len, steps.sentences))
    print(
        f"{size}: {tokens:,} tokens in {len(steps.examples):,} sentences, batches of "
        f"{steps.config.task.training.batch_size}, {options.threads} threads, {options.rounds} rounds"
    )
    for name, seconds in vars(costs).items():
        print(f"  {name:10} {1 / seconds:10,.0f} tokens/s")
    reference, engine = costs.recomputed(costs.reference), costs.recomputed(costs.engine)
    print(f"  {RUNS} runs of {EPOCHS} epochs from the store: {costs.sweep:.2f} h")
    print(
        f"  the reference way in every step: {reference:.2f} h, ratio 1/{reference / costs.sweep:.1f} "
        f"(aim 1/{AIMS[size]})"
    )
    print(f"  our engine in every step: {engine:.2f} h, ratio 1/{engine / costs.sweep:.1f}", flush=True)


if __name__ == "__main__":
    main()
