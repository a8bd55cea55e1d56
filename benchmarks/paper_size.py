"""What an epoch costs at the paper's size, extrapolated from 50 training steps of each task with a gradient.

python -m benchmarks.paper_size                    every task of conf/task, some minutes each
python -m benchmarks.paper_size task=ner,srl       some of them
python -m benchmarks.paper_size task=ner steps=10 data=sample

Heads, batches, word vectors and injection are those of `size=paper` and the original biLM's three layers of
1,024; the layers are random numbers, for the store hands them out at the price of a copy. Examples are those
of data=open, or of the generated world where that is not at hand, so their lengths differ from the paper's.
With one thread, the default, processor time is counted instead of the clock.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

import torch

from benchmarks.steps import TaskSteps, build_steps, count_parameters, random_layers
from benchmarks.timing import now
from elmo_bench.catalog import list_tasks
from elmo_bench.tensors import Batch
from elmo_bench.training.memory import keep_freed_memory
from elmo_bench.types import BenchError

LAYERS, DIM = 3, 1024  # of the original biLM
# Training examples of the paper's corpora.
EXAMPLES = {
    "ner": (14_041, "sentences"),
    "srl": (253_000, "propositions"),
    "sst5": (93_600, "phrases"),  # those of four tokens and more, counted on nine tenths of the trees
    "snli": (549_367, "pairs"),
    "squad": (87_599, "questions"),
    "coref": (2_802, "documents"),
}
WARM_UP = 2


def main() -> None:
    words = dict(argument.split("=", 1) for argument in sys.argv[1:])
    steps, threads = int(words.pop("steps", "50")), int(words.pop("threads", "1"))
    tasks = words.pop("task", "").split(",") if "task" in words else list_tasks()
    torch.set_num_threads(threads)
    keep_freed_memory()
    print(f"{steps} steps a task, {threads} threads; ELMo of {LAYERS} layers of {DIM:,}", flush=True)
    others = [f"{key}={value}" for key, value in words.items()]
    for task in tasks:
        built = build(task, others)
        if built.module.head.fitting == "one_pass":
            print(f"{task}: one pass, no steps", flush=True)
        else:
            report(task, built, steps)


def build(task: str, overrides: Sequence[str]) -> TaskSteps:
    """The task on open data, or on the generated world where that is absent."""
    words = [f"task={task}", "size=paper", *overrides]
    if any(word.startswith("data=") for word in overrides):
        return build_steps(words, LAYERS, DIM)
    try:
        return build_steps([*words, "data=open"], LAYERS, DIM)
    except BenchError as error:
        print(f"{task}: on the generated world, for {error}", flush=True)
        return build_steps(words, LAYERS, DIM)


def report(task: str, built: TaskSteps, steps: int) -> None:
    """Time the steps and print the epoch."""
    batches = built.batches(random_layers(LAYERS, DIM))
    for _ in range(WARM_UP):
        built.step(next(batches))
    seconds, sizes, tokens = [], [], []
    for _ in range(steps):
        start = now()
        batch = next(batches)
        built.step(batch)
        seconds.append(now() - start)
        sizes.append(len(batch))
        tokens.append(count_tokens(batch))
    total, size = sum(seconds), sum(sizes)
    examples, unit = EXAMPLES.get(task, (len(built.examples), "examples of this corpus"))
    hours, weights = total / size * examples / 3600, count_parameters(built.module) / 1e6
    print(
        f"{task}: {steps} steps of {size / steps:.0f} in {total:.0f} s, median "
        f"{1000 * statistics.median(seconds):,.0f} ms, {sum(tokens) / total:,.0f} tokens/s "
        f"({sum(tokens) / size:.0f} tokens an example, {weights:.1f} M weights); "
        f"an epoch of {examples:,} {unit} takes {hours:.2f} h",
        flush=True,
    )


def count_tokens(batch: Batch) -> int:
    return sum(int(stream.mask.sum()) for stream in batch.streams.values())


if __name__ == "__main__":
    main()
