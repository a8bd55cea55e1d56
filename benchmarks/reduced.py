"""Training steps and evaluations of heads at reduced sizes, beside an earlier commit of this project.

python -m benchmarks.reduced                            every task below, one thread
python -m benchmarks.reduced --tasks srl --threads 2    one of them
python -m benchmarks.reduced --size paper --tasks ner srl squad

Each side runs in a process of its own and fits the same head on the same examples with Lightning, as a run
does: batches read from a store, forward, backward, clipping, optimiser and callbacks. They take turns, a
round each: some steps, then an evaluation. So foreign load hits all sides alike. Every step counts, the first
one too. Sides:

before   the earlier commit, in a temporary work tree, with `bucket_by_length` as it had it
same     this tree on the same batches
now      this tree as conf/size has it, where that makes other batches

Examples are real (data=open); ELMo is random, of the shape that the size is used with. Times are of the
processor with one thread, else of the clock; they are means over all rounds. Work is counted on the earlier
commit, and the limit is the rate of a large product on the same number of threads.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.timing import seconds_of
from elmo_bench.config import RunConfig, read_config
from elmo_bench.data.batching import IndexedExample
from elmo_bench.nn.products import multiply
from elmo_bench.plugins import load_task
from elmo_bench.runs.inputs import build_vocabularies, number_examples
from elmo_bench.runs.preparation import find_corpus
from elmo_bench.runs.selection import choose_examples, read_corpus
from elmo_bench.sweep.compose import compose

PROJECT = Path(__file__).parents[1]
EARLIER = "c0ab718"
TASKS = ("srl", "snli", "squad", "coref", "ner")
LAYERS = {"open": (3, 256), "paper": (3, 1024)}  # of small_open, of the original biLM: number, dimensions
BUCKETED_BEFORE = {"open": ("snli", "squad", "sst5"), "paper": ("squad", "sst5")}
DEV_BATCHES = 12  # at most, in one evaluation
AIM = 2  # times as fast as the earlier commit
SQUARE = 2048  # rows of the product that measures the limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--size", choices=tuple(LAYERS), default="open")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="in a round")
    parser.add_argument("--commit", default=EARLIER, help="the earlier one")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{options.threads} threads, {options.rounds} rounds of {options.steps} steps, size={options.size}")
    with checked_out(options.commit) as earlier, tempfile.TemporaryDirectory() as place:
        for task in options.tasks:
            files = write_work(task, options.size, options.steps, Path(place))
            report(task, measure(files, earlier, options.rounds, options.threads))


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The tree of a commit in a temporary directory."""
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / commit
        git = ["git", "-C", str(PROJECT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def write_work(task: str, size: str, steps: int, place: Path) -> dict[str, Path]:
    """What each side trains, in files of plain values that every version of the project can read."""
    config = read_config(
        RunConfig,
        compose([f"task={task}", "data=open", f"size={task}_{size}" if size == "open" else "size=paper"]),
    )
    plug_in = load_task(config.task)
    everything = read_corpus(plug_in, find_corpus(config, lambda _: None)).examples
    training = choose_examples("train", everything["train"], config.data, None)
    vocabularies = build_vocabularies(config, plug_in, training, log=lambda _: None)
    batch_size = config.task.training.batch_size
    counts = {"train": steps * batch_size, "dev": DEV_BATCHES * batch_size}
    rows = {"train": spread(training, counts["train"]), "dev": spread(everything["dev"], counts["dev"])}
    layer_count, dim = LAYERS[size]
    work: dict[str, Any] = {
        "task": task,
        "settings": config.task.settings,
        "training": config.task.training.model_dump()
        | {"epochs": 10**6, "patience": 10**6, "evaluate_every": None},
        "elmo": config.elmo.model_dump(by_alias=True),
        "layer_count": layer_count,
        "dim": dim,
        "words": asdict(vocabularies.words),
        "named": {name: items.items for name, items in vocabularies.named.items()},
        "examples": {
            split: [plain(example) for example in number_examples(plug_in, chosen, vocabularies)]
            for split, chosen in rows.items()
        },
    }
    bucketed = config.task.training.bucket_by_length
    before = task in BUCKETED_BEFORE[size]
    sides = {"before": before, "same": before, **({} if bucketed == before else {"now": bucketed})}
    files = {}
    for side, bucket in sides.items():
        files[side] = place / f"{task}-{side}.pt"
        torch.save({**work, "training": {**work["training"], "bucket_by_length": bucket}}, files[side])
    return files


def spread(rows: list[Any], count: int) -> list[Any]:
    """So many of the rows, from all over the corpus."""
    if len(rows) <= count:
        return rows
    return [rows[number * len(rows) // count] for number in range(count)]


def plain(example: IndexedExample) -> tuple[str, Mapping[str, Any], Mapping[str, Any]]:
    sentences = {
        stream: tuple(excerpt.words for excerpt in rows) for stream, rows in example.excerpts.items()
    }
    return example.id, sentences, dict(example.fields)


@dataclass(frozen=True)
class Round:
    """The seconds of one round of a side."""

    parts: dict[str, float]  # of a step
    evaluation: float  # of one example

    @property
    def step(self) -> float:
        return sum(self.parts.values())

    @classmethod
    def mean(cls, rounds: Sequence[Round]) -> Round:
        parts = {part: statistics.mean(one.parts[part] for one in rounds) for part in rounds[0].parts}
        return cls(parts, statistics.mean(one.evaluation for one in rounds))


class Side:
    """A process that fits a head, one round at a time."""

    def __init__(self, tree: Path, work: Path, threads: int) -> None:
        command = [
            sys.executable,
            str(PROJECT / "benchmarks" / "rounds.py"),
            str(tree),
            str(work),
            str(threads),
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree
        )
        self.flops: float = self._read()["flops"]  # of one step

    def round(self) -> Round:
        """Let it take one more round."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return Round(**self._read())

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@dataclass(frozen=True)
class Measured:
    """The rounds of every side, and what a step multiplies."""

    rounds: dict[str, list[Round]]
    flops: float
    limit: float  # operations per second


def measure(files: Mapping[str, Path], earlier: Path, rounds: int, threads: int) -> Measured:
    """Let all sides take turns."""
    sides = {
        name: Side(earlier if name == "before" else PROJECT, work, threads) for name, work in files.items()
    }
    try:
        taken: dict[str, list[Round]] = {name: [] for name in sides}
        limits = []
        for _ in range(rounds):
            for name, side in sides.items():
                taken[name].append(side.round())
            limits.append(measure_limit())
        return Measured(taken, sides["before"].flops, statistics.median(limits))
    finally:
        for side in sides.values():
            side.stop()


def measure_limit() -> float:
    """Operations per second of a large float32 product."""
    square = torch.ones(SQUARE, SQUARE)
    return 2 * SQUARE**3 / min(seconds_of(lambda: multiply(square, square)) for _ in range(3))


def report(task: str, measured: Measured) -> None:
    """Print ratios to the earlier commit, the share of the limit, and the parts of a step."""
    before = Round.mean(measured.rounds["before"])
    aimed = 100 * measured.flops / (before.step / AIM) / measured.limit
    print(
        f"\n{task}: {measured.flops / 1e9:.2f} GFLOP per step, limit {measured.limit / 1e9:.0f} GFLOP/s; ",
        end="",
    )
    print(f"{AIM}x would be {aimed:.0f} % of the limit")
    for name, rounds in measured.rounds.items():
        mean = Round.mean(rounds)
        share = 100 * measured.flops / mean.step / measured.limit
        print(f"  {name:7} step {1000 * mean.step:7.1f} ms {before.step / mean.step:5.2f}x ", end="")
        print(f"{share:3.0f} % of the limit   evaluation {1000 * mean.evaluation:6.2f} ms/example ", end="")
        print(f"{before.evaluation / mean.evaluation:5.2f}x")
        parts = (f"{part} {1000 * seconds:.1f}" for part, seconds in mean.parts.items())
        print("          " + "  ".join(parts), flush=True)


if __name__ == "__main__":
    main()
