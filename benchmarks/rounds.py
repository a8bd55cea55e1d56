"""One side of `benchmarks.reduced`: fits a head a round at a time, with any version of the project.

python benchmarks/rounds.py TREE WORK THREADS    TREE is the root of a work tree, WORK a file of plain values

Reads a line for every round, and answers with the seconds of it as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

# Where commit c0ab718 had what is elsewhere today.
ELSEWHERE = {
    "elmo_bench.encoders.injection": "elmo_bench.representations.injection",
    "elmo_bench.encoders.store": "elmo_bench.representations.store",
    "elmo_bench.encoders.protocol": "elmo_bench.representations.encoder",
    "elmo_bench.runs.batches": "elmo_bench.training.task_data",
    "elmo_bench.runs.fitting": "elmo_bench.training.fitting",
    "elmo_bench.runs.module": "elmo_bench.training.task_module",
    **{
        f"elmo_bench.tasks.{module}": f"elmo_bench.heads.{task}"
        for task, module in {
            "srl": "srl",
            "snli": "snli",
            "squad": "squad.head",
            "coref": "coref.head",
            "ner": "ner",
            "sst5": "sst5",
            "pos": "pos",
        }.items()
    },
}
HEADS = {"squad": "squad.head", "coref": "coref.head"}  # modules with another name than the task's
PARTS = ("batching", "forward", "backward", "clipping", "optimiser")


def main() -> None:
    tree, work, threads = sys.argv[1:]
    sys.path.insert(0, tree)
    torch.set_num_threads(int(threads))
    project("elmo_bench.training.memory").keep_freed_memory()
    Fitting(torch.load(work, weights_only=False), torch.get_num_threads() == 1).run()


def project(name: str) -> Any:
    """A module of the tree, whatever it is called there."""
    # asked of the files: where this package is installed for editing, an import would find today's module
    there = Path(sys.path[0]) / Path(*name.split(".")).with_suffix(".py")
    return import_module(name if there.is_file() or name not in ELSEWHERE else ELSEWHERE[name])


def make(kind: Callable[..., Any], values: dict[str, Any]) -> Any:
    """A dataclass or model from those of the values that it knows."""
    known = getattr(kind, "model_fields", None) or {field.name for field in fields(kind)}  # type: ignore[arg-type]
    aliases = {"lambda"} if "lam" in known else set()
    return kind(**{name: value for name, value in values.items() if name in known or name in aliases})


class Clock:
    """Seconds by part; the time since the last stamp belongs to the part that is named."""

    def __init__(self, by_processor: bool) -> None:
        self._now = time.process_time if by_processor else time.perf_counter
        self._last = self._now()
        self.parts: dict[str, float] = {}

    def restart(self) -> None:
        self._last = self._now()
        self.parts = {}

    def stamp(self, part: str) -> None:
        now = self._now()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._last
        self._last = now


class RandomEncoder:
    """Layers of the right shape, to fill a store with."""

    def __init__(self, layer_count: int, dim: int) -> None:
        self.fingerprint, self.layer_count, self.dim = "random", layer_count, dim
        self._random = np.random.default_rng(0)

    def layers(self, sentences: Sequence[tuple[str, ...]]) -> list[Any]:
        made = []
        for words in sentences:
            layers = self._random.standard_normal((self.layer_count, len(words), self.dim), np.float32)
            layers[0, :, self.dim // 2 :] = layers[0, :, : self.dim // 2]
            made.append(layers)
        return made


class Fitting:
    """A head with all that fits it."""

    def __init__(self, work: dict[str, Any], by_processor: bool) -> None:
        self.work, self.clock = work, Clock(by_processor)
        config, batches = project("elmo_bench.config"), project("elmo_bench.runs.batches")
        self.settings = make(config.TrainingConfig, work["training"])
        examples = {split: [self._example(*row) for row in rows] for split, rows in work["examples"].items()}
        layers = {split: self._open_store(rows) for split, rows in work["examples"].items()}
        batch_size, bucket = self.settings.batch_size, self.settings.bucket_by_length
        self.training = batches.TrainingBatches(examples["train"], layers["train"], batch_size, bucket, 1)
        evaluation = getattr(batches, "EvaluationBatches", None) or batches.FileOrderBatches
        self.dev = evaluation(examples["dev"], layers["dev"], batch_size)
        self.dev_count = len(examples["dev"])
        self.module = self._build_module()

    def run(self) -> None:
        """Fit for ever; the module's hooks answer for the rounds."""
        with tempfile.TemporaryDirectory() as place:
            config = project("elmo_bench.config")
            trainer = config.TrainerConfig(
                accelerator="cpu", devices=1, precision="32-true", threads=None, checkpoint_seconds=1e9
            )
            fitting = project("elmo_bench.runs.fitting")
            values = {
                "directory": Path(place),
                "settings": self.settings,
                "trainer": trainer,
                "most_updates": 10**9,
                "score": self._score,
                "higher_is_better": True,
                "log": lambda _: None,
                "say": lambda _: None,
                "observe": lambda row: None,
            }
            answer({"flops": self._count_flops()})
            fitting.fit(self.module, self.training, self.dev, make(fitting.FitPlan, values))

    def _score(self, predictions: Sequence[Any]) -> float:
        """Called at the end of an evaluation: the end of a round."""
        assert len(predictions) == self.dev_count
        self.clock.stamp("evaluation")
        seconds = self.clock.parts
        steps = len(self.training)
        parts = {part: seconds[part] / steps for part in PARTS}
        answer({"parts": parts, "evaluation": seconds["evaluation"] / self.dev_count})
        return 0.0

    def _example(self, name: str, sentences: Any, tensors: Any) -> Any:
        excerpt = getattr(project("elmo_bench.types"), "Excerpt", None)
        if excerpt is not None:  # older versions look plain sentences up
            sentences = {stream: tuple(map(excerpt.whole, rows)) for stream, rows in sentences.items()}
        return project("elmo_bench.data.batching").IndexedExample(name, sentences, tensors)

    def _open_store(self, rows: Sequence[tuple[str, Any, Any]]) -> Any:
        work = self.work
        encoder = RandomEncoder(work["layer_count"], work["dim"])
        card = project("elmo_bench.encoders.protocol").EncoderCard(
            "random", encoder.fingerprint, encoder.layer_count, encoder.dim, True
        )
        store = project("elmo_bench.encoders.store").Store(
            Path(), card, lambda: encoder, mode="ram", progress=False
        )
        text = [words for _, sentences, _ in rows for row in sentences.values() for words in row]
        return store.open("", text).batch

    def _build_module(self) -> Any:
        torch.manual_seed(0)
        work, task = self.work, self.work["task"]
        config, tensors = project("elmo_bench.config"), project("elmo_bench.tensors")
        vocabulary = project("elmo_bench.data.vocabulary")
        named = {name: vocabulary.Vocabulary(tuple(items)) for name, items in work["named"].items()}
        vocabularies = vocabulary.Vocabularies(make(vocabulary.WordTable, work["words"]), named)
        elmo = make(config.ElmoConfig, work["elmo"])
        injections = project("elmo_bench.encoders.injection").Injection
        takes_count = "layer_count" in signature(injections).parameters  # commit c0ab718 did
        layers = work["layer_count"] if takes_count else range(work["layer_count"])
        injection = injections(elmo, layers, work["dim"])
        heads = project(f"elmo_bench.tasks.{HEADS.get(task, task)}")
        name = task.capitalize()
        settings = make(getattr(heads, f"{name}HeadSettings"), work["settings"]["head"])
        widths = tensors.Widths(injection.widths.at_input, injection.widths.at_output)
        head = getattr(heads, f"{name}Head")(settings, vocabularies, widths)
        return timed(project("elmo_bench.runs.module").TaskModule, self.clock)(
            head, injection, self.settings, elmo.lam, 1
        )

    def _count_flops(self) -> float:
        """Floating-point operations of the products of a step, a mean over an epoch."""
        linear = {torch.ops.mkldnn._linear_pointwise: multiplied}
        with FlopCounterMode(display=False, custom_mapping=linear) as counter:
            for batch in self.training:
                torch.manual_seed(0)
                self.module(batch).loss.backward()
        self.module.zero_grad()
        return float(counter.get_total_flops() / len(self.training))


def multiplied(x: Any, weight: Any, *rest: Any, out_shape: Any = None, **others: Any) -> int:
    """Operations of oneDNN's product, from the shapes of its inputs."""
    rows = 1
    for size in x[:-1]:
        rows *= size
    return int(2 * rows * x[-1] * weight[0])


def timed(kind: Any, clock: Clock) -> Any:
    """The module with hooks that stamp the clock; a round begins with an epoch of training."""

    class Timed(kind):  # type: ignore[misc]
        def on_train_epoch_start(self) -> None:
            if not sys.stdin.readline():
                raise SystemExit
            clock.restart()

        def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
            super().on_train_batch_start(batch, batch_idx)
            clock.stamp("batching")

        def on_before_backward(self, loss: Any) -> None:
            clock.stamp("forward")

        def on_after_backward(self) -> None:
            clock.stamp("backward")

        def configure_gradient_clipping(self, *given: Any, **named: Any) -> None:
            super().configure_gradient_clipping(*given, **named)
            clock.stamp("clipping")

        def on_train_batch_end(self, *given: Any) -> None:
            clock.stamp("optimiser")

        def on_validation_epoch_start(self) -> None:
            super().on_validation_epoch_start()
            clock.stamp("batching")  # callbacks after the last step

    return Timed


def answer(values: dict[str, Any]) -> None:
    print(json.dumps(values), flush=True)


if __name__ == "__main__":
    main()
