"""Where the seconds of one run go, its peak memory, and its speed against the limit of the machine.

python -m benchmarks.run task=srl data=open                    one run, with any overrides of run.py
python -m benchmarks.run task=srl size=paper data=open --random-layers
python -m benchmarks.run all                                   every task at both sizes, as one table
python -m benchmarks.run all task=ner,srl --json

Training stops after --steps updates; then come one evaluation on dev, the predictions of dev and test, and
all files, as in any run. Timers are put around functions of the run, and the time of an inner one does not
count for the outer one. Every step counts, the first one too. Caches (paths.cache) are used as they are
found, so a second call shows what a second run costs. With --random-layers the encoder is replaced by random
layers of the original biLM's size, for machines without its weights.

Floating-point operations are counted by torch's FlopCounterMode after the run, on the same batches, so that
counting costs no measured time: matrix products and convolutions, forward and backward, and the operator of
elmo_bench/nn/products.py; element-wise operations do not count. The limit is an fp32 product of two square
matrices in the same process with the same number of threads. With one thread both rates are taken on
processor time, which foreign load changes less than the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from elmo_bench.types import BenchError

PARTS = (
    *("starting", "imports", "composing", "finding", "reading", "vectors", "indexing", "store", "building"),
    *("batches", "forward", "backward", "optimiser", "evaluation", "decoding", "scoring", "writing", "other"),
)
OF_A_STEP = ("batches", "forward", "backward", "optimiser")
SIZES = ("open", "paper")
PAPER_LAYERS, PAPER_DIM = 3, 1024  # of the original biLM
PRODUCT = 2048  # rows and columns of the matrices that measure the limit
Clock = tuple[float, float]


@dataclass
class Ledger:
    """Wall and processor seconds by part; an inner part interrupts the outer one."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {part: [0.0, 0.0] for part in PARTS})
    _open: list[str] = field(default_factory=lambda: ["other"])
    _since: Clock = field(default_factory=lambda: read_clock())

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the time of a block for one part."""
        self._settle()
        self._open.append(name)
        try:
            yield
        finally:
            self._settle()
            self._open.pop()

    def time(self, owner: Any, name: str, part: str) -> None:
        """Replace a function of a module or class by one that counts its time."""
        function = getattr(owner, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            with self.part(part):
                return function(*arguments, **named)

        setattr(owner, name, timed)

    def _settle(self) -> None:
        now = read_clock()
        entry = self.seconds[self._open[-1]]
        for index in range(2):
            entry[index] += now[index] - self._since[index]
        self._since = now


def read_clock() -> Clock:
    """Seconds of the clock and of the processor."""
    return time.perf_counter(), time.process_time()


@dataclass
class Caught:
    """What the timers see of a run, for counting its operations afterwards."""

    module: Any = None
    batches: Any = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="of run.py, or all")
    parser.add_argument("--steps", type=int, default=20, help="updates (default: %(default)s)")
    parser.add_argument("--random-layers", action="store_true", help="in place of an encoder's")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_intermixed_args()
    if "all" in options.overrides:
        overrides = [word for word in options.overrides if word != "all"]
        rows = list(measure_all(overrides, options.steps))
        print(json.dumps(rows, indent=1) if options.json else summarise(rows))
        return
    try:
        found = measure(options.overrides, options.steps, options.random_layers)
    except BenchError as error:
        parser.exit(error.exit_code, f"error: {error}\n")
    print(json.dumps(found, indent=1) if options.json else describe(found))


def measure(overrides: Sequence[str], steps: int, random: bool) -> dict[str, Any]:
    """Execute one run in a directory of its own, and say what it cost."""
    ledger = Ledger()
    ledger.seconds["starting"] = [time.process_time()] * 2  # before there was a clock; one thread
    with ledger.part("imports"):
        from elmo_bench.training.memory import pause_collection, peak_bytes

        with pause_collection():
            import torch

            from elmo_bench.runs import execution
    caught = Caught()
    with tempfile.TemporaryDirectory() as directory:
        config = compose_run([*overrides, f"paths.runs={directory}"], steps, ledger)
        time_run(ledger, steps, caught)
        if random:
            use_random_layers()
        outcome = execution.run_job(config, lambda message: print(message, file=sys.stderr))
        with ledger.part("other"):
            peak = peak_bytes() / 2**30
    updates = outcome.record.updates
    found = {
        "task": config.task.name,
        "size": config.size,
        "source": config.data.source,
        "overrides": list(overrides),
        "updates": updates,
        "threads": torch.get_num_threads(),
        "seconds": {part: {"wall": wall, "processor": used} for part, (wall, used) in ledger.seconds.items()},
        "peak_gib": peak,
        "load": os.getloadavg()[0],
    }
    return found | measure_rate(ledger, caught, updates) if updates else found


def measure_rate(ledger: Ledger, caught: Caught, updates: int) -> dict[str, Any]:
    """How many operations a step has, how many of them a second does, and what the machine could do."""
    import torch

    clock = 1 if torch.get_num_threads() == 1 else 0  # as in benchmarks/timing.py
    learning = sum(ledger.seconds[part][clock] for part in ("forward", "backward"))
    operations, uncounted = count_operations(caught)
    return {
        "operations_per_step": operations / updates,
        "gflops": operations / learning / 1e9,
        "limit_gflops": measure_limit(),
        "uncounted": uncounted,
    }


def compose_run(overrides: Sequence[str], steps: int, ledger: Ledger) -> Any:
    """The typed configuration of the run, with an evaluation after the last step."""
    from elmo_bench.config import RunConfig, read_config
    from elmo_bench.sweep.compose import compose

    with ledger.part("composing"):
        return read_config(RunConfig, compose([*overrides, f"task.training.evaluate_every={steps}"]))


def time_run(ledger: Ledger, steps: int, caught: Caught) -> None:
    """Put timers around the functions that a run consists of, and end training after some steps."""
    import torch

    from elmo_bench.runs import batches, execution, fitting, inputs
    from elmo_bench.runs.module import TaskModule
    from elmo_bench.training.checkpoints import CheckpointDirectory

    for owner, name, part in (
        (execution, "prepare", "finding"),
        (inputs, "read_corpus", "reading"),
        (inputs, "read_words", "vectors"),
        (inputs, "build_vocabularies", "indexing"),
        (inputs, "number_examples", "indexing"),
        (inputs, "open_layers", "store"),
        (execution, "build_module", "building"),
        (batches, "collate", "batches"),
        (torch.Tensor, "backward", "backward"),
        (TaskModule, "training_step", "forward"),
        (TaskModule, "predict_step", "evaluation"),
        (TaskModule, "configure_gradient_clipping", "optimiser"),
        (execution, "count", "scoring"),
        (execution, "make_record", "writing"),
        *((execution, name, "writing") for name in WRITERS),
        (CheckpointDirectory, "save", "writing"),
    ):
        ledger.time(owner, name, part)
    time_optimiser(TaskModule, ledger)
    time_decoding(execution, ledger)

    def fit(module: Any, training: Any, dev: Any, plan: Any) -> Any:
        object.__setattr__(plan, "most_updates", steps)
        caught.module, caught.batches = module, training
        return fitting.fit(module, training, dev, plan)

    patched: Any = execution
    patched.fit = fit


WRITERS = ("write_predictions", "write_counts", "write_atomically", "write_record")


def time_optimiser(module: Any, ledger: Ledger) -> None:
    """Lightning runs forward and backward inside the optimiser's step; the timers take them out again."""
    configure = module.configure_optimizers

    def timed(self: Any) -> Any:
        chosen = configure(self)
        ledger.time(chosen["optimizer"] if isinstance(chosen, dict) else chosen, "step", "optimiser")
        return chosen

    module.configure_optimizers = timed


def time_decoding(execution: Any, ledger: Ledger) -> None:
    """Every head has a class of its own, so decoding is timed once the head is built."""
    build = execution.build_module

    def timed(*arguments: Any) -> Any:
        module = build(*arguments)
        ledger.time(module.head, "decode", "decoding")
        return module

    execution.build_module = timed


def use_random_layers() -> None:
    """Layers of the original biLM's size in place of an encoder's; nothing is loaded or stored."""
    from benchmarks.steps import random_layers
    from elmo_bench.encoders.protocol import EncoderCard, FoundEncoder
    from elmo_bench.runs import inputs, preparation

    card = EncoderCard("random layers", "none", PAPER_LAYERS, PAPER_DIM)
    source = random_layers(PAPER_LAYERS, PAPER_DIM)
    patched: Any = preparation
    patched.find_run_encoder = lambda config, log: (FoundEncoder(card, refuse), None)
    patched = inputs
    patched.open_layers = lambda config, prepared, *rest: source


def refuse() -> Any:
    raise AssertionError("random layers need no encoder")


def count_operations(caught: Caught) -> tuple[int, list[str]]:
    """Operations of forward and backward on the batches of the run, and products that are not counted."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode

    linear = torch.ops.mkldnn._linear_pointwise

    def count_linear(left: Sequence[int], right: Sequence[int], *_: Any, **__: Any) -> int:
        rows = 1
        for size in left[:-1]:
            rows *= size
        return 2 * rows * left[-1] * right[0]  # the weight is (outputs, inputs)

    counter = FlopCounterMode(display=False, custom_mapping={linear: count_linear})
    known, seen = set(counter.flop_registry), set()

    class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(
            self, function: Any, types: Any, arguments: Any = (), named: Any = None
        ) -> Any:
            seen.add(function._overloadpacket)
            return function(*arguments, **(named or {}))

    module = caught.module.train()
    caught.batches.step = lambda: 0
    with counter, Watch():  # type: ignore[no-untyped-call]
        for batch in caught.batches:
            loss = module(batch).loss + module._lam * module.injection.penalty()
            torch.autograd.backward([loss])
    products = ("mm", "linear", "conv", "lstm", "gru", "rnn", "dot", "matmul")
    suspects = {str(packet) for packet in seen - known if any(word in str(packet) for word in products)}
    return counter.get_total_flops(), sorted(suspects)


def measure_limit() -> float:
    """GFLOP/s of a large fp32 product, the best of several with either library that PyTorch has."""
    import torch

    from benchmarks.timing import seconds_of
    from elmo_bench.nn.products import multiply

    left, right = torch.rand(PRODUCT, PRODUCT), torch.rand(PRODUCT, PRODUCT)
    seconds = [seconds_of(partial(way, left, right)) for way in (torch.mm, multiply) for _ in range(10)]
    return 2 * PRODUCT**3 / min(seconds) / 1e9


def describe(found: dict[str, Any]) -> str:
    """One run as a table of its parts."""
    updates = found["updates"]
    lines = [
        f"{found['task']} {found['source']}, size {found['size']}: {updates} updates, {found['threads']} "
        f"threads, load {found['load']:.1f}",
        f"{'part':12} {'wall s':>9} {'processor s':>12} {'wall ms a step':>15}",
    ]
    for part, seconds in found["seconds"].items():
        step = f"{1000 * seconds['wall'] / updates:15.1f}" if updates and part in OF_A_STEP else ""
        lines.append(f"{part:12} {seconds['wall']:9.2f} {seconds['processor']:12.2f} {step}".rstrip())
    total = {kind: sum(one[kind] for one in found["seconds"].values()) for kind in ("wall", "processor")}
    lines.append(f"{'together':12} {total['wall']:9.2f} {total['processor']:12.2f}")
    lines.append(f"peak memory {found['peak_gib']:.2f} GiB")
    if updates:
        share = 100 * found["gflops"] / found["limit_gflops"]
        lines.append(
            f"forward and backward: {found['operations_per_step'] / 1e9:.2f} GFLOP a step, "
            f"{found['gflops']:.1f} GFLOP/s = {share:.0f} % of {found['limit_gflops']:.0f} (fp32 product)"
        )
        if found["uncounted"]:
            lines.append(f"not counted: {', '.join(found['uncounted'])}")
    return "\n".join(lines)


def measure_all(overrides: Sequence[str], steps: int) -> Iterator[dict[str, Any]]:
    """Every task at every size, each in a process of its own."""
    from elmo_bench.catalog import list_tasks

    named = [word.removeprefix("task=").split(",") for word in overrides if word.startswith("task=")]
    others = [word for word in overrides if not word.startswith("task=")]
    for task in named[-1] if named else list_tasks():
        for size in SIZES:
            words = [f"task={task}", "data=open", *choose_size(size), *others]
            print(" ".join(words), file=sys.stderr, flush=True)
            command = [sys.executable, "-m", "benchmarks.run", *words, "--steps", str(steps), "--json"]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            yield json.loads(done.stdout) | {"column": size}


def choose_size(size: str) -> list[str]:
    """The words that choose a size; without GloVe 840B the paper's vectors are random ones of its width."""
    return ["size=paper", "words=random", "words.dim=300", "--random-layers"] if size == "paper" else []


COLUMNS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("task", lambda found: str(found["task"])),
    ("size", lambda found: str(found["column"])),
    *(
        (f"{part}, s", lambda found, part=part: f"{found['seconds'][part]['processor']:.2f}")
        for part in ("imports", "reading", "vectors", "indexing", "store")
    ),
    *(
        (f"{part}, ms", lambda found, part=part: spell_step(found, part))
        for part in ("batches", "forward", "backward", "optimiser")
    ),
    *(
        (f"{part}, s", lambda found, part=part: f"{found['seconds'][part]['processor']:.2f}")
        for part in ("evaluation", "decoding", "scoring", "writing")
    ),
    ("other, s", lambda found: f"{sum_rest(found):.2f}"),
    ("GFLOP a step", lambda found: f"{found.get('operations_per_step', 0) / 1e9:.1f}"),
    ("GFLOP/s", lambda found: f"{found.get('gflops', 0):.0f}"),
    ("of the limit", lambda found: spell_share(found)),
    ("peak, GiB", lambda found: f"{found['peak_gib']:.2f}"),
)


def spell_step(found: dict[str, Any], part: str) -> str:
    """Processor milliseconds of one update."""
    return f"{1000 * found['seconds'][part]['processor'] / found['updates']:.0f}" if found["updates"] else "-"


def spell_share(found: dict[str, Any]) -> str:
    return f"{100 * found['gflops'] / found['limit_gflops']:.0f} %" if found["updates"] else "-"


def sum_rest(found: dict[str, Any]) -> float:
    """Processor seconds of the parts without a column."""
    names = ("starting", "composing", "finding", "building", "other")
    return sum(float(found["seconds"][name]["processor"]) for name in names)


def summarise(rows: Sequence[dict[str, Any]]) -> str:
    """All runs as one Markdown table; seconds are the processor's."""
    lines = [
        "| " + " | ".join(title for title, _ in COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
        *("| " + " | ".join(show(row) for _, show in COLUMNS) + " |" for row in rows),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
