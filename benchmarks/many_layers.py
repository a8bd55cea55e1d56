"""Memory and time of runs on an encoder with the shape of BERT-base: 13 layers of 768 values.

python -m benchmarks.many_layers --task ner
python -m benchmarks.many_layers --task squad store.dtype=int8       further words are overrides of the run

The encoder is a random projection of letters, so that almost all time is the store's and the head's. A run
trains for some epochs on open data, without test data, in a new cache. Memory is what the process has for
itself; the pages of mapped files count separately, because the system takes them back when it needs memory.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from elmo_bench.config import RunConfig, read_config
from elmo_bench.directories import add_directory
from elmo_bench.encoders.protocol import EncoderCard, EncoderContext, EncoderPlugin, FoundEncoder, Layers
from elmo_bench.runs.execution import run_job
from elmo_bench.sweep.compose import compose
from elmo_bench.types import Words

ENCODER = """name: random_projection
plugin: benchmarks.many_layers.RandomProjection
depth: 13
width: 768
"""
FEATURES = 64
NEIGHBOURS = 0.3  # how much of the words before and after enters a layer


@dataclass(frozen=True, kw_only=True)
class RandomProjection(EncoderPlugin):
    """Layers of random projections of the letters of a word; each layer reads the neighbours once more."""

    depth: int
    width: int

    def find(self, context: EncoderContext) -> FoundEncoder:
        card = EncoderCard(context.name, self.make_fingerprint("random projection 1"), self.depth, self.width)
        return FoundEncoder(card, lambda: LoadedProjection(card))


class LoadedProjection:
    """The projection with its weights, drawn by a fixed seed."""

    def __init__(self, card: EncoderCard) -> None:
        self.fingerprint, self.layer_count, self.dim = card.fingerprint, card.layer_count, card.dim
        drawn = np.random.default_rng(1).normal(size=(card.layer_count, FEATURES, card.dim))
        self._weights: NDArray[np.float32] = drawn.astype(np.float32)

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        return [self._encode(words) for words in sentences]

    def _encode(self, words: Words) -> Layers:
        features = np.zeros((len(words), FEATURES), np.float32)
        for row, word in zip(features, words, strict=True):
            np.add.at(row, [ord(letter) * 7919 % FEATURES for letter in word], 1.0)
        layers = np.empty((self.layer_count, len(words), self.dim), np.float32)
        for layer, weights in zip(layers, self._weights, strict=True):
            np.tanh(features @ weights, out=layer)
            padded = np.pad(features, ((1, 1), (0, 0)))
            features = features + NEIGHBOURS * (padded[:-2] + padded[2:])
        return layers


class PeakMemory:
    """The most memory of this process while a block runs, looked at every 10 ms."""

    def __enter__(self) -> PeakMemory:
        self.own = self.mapped = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.01):
            lines = Path("/proc/self/status").read_text().splitlines()
            sizes = {line.split()[0]: int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss")}
            self.own = max(self.own, sizes["RssAnon:"])
            self.mapped = max(self.mapped, sizes["RssFile:"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--task", default="ner")
    parser.add_argument("--depth", type=int, default=13)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("overrides", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measure(options, Path(directory))


def measure(options: argparse.Namespace, directory: Path) -> None:
    """Fill the store, then train: the second run reads what the first stored."""
    file = directory / "conf" / "encoder" / "random_projection.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(ENCODER)
    add_directory(directory / "conf")
    defaults = [
        f"task={options.task}",
        "data=open",
        "encoder=random_projection",
        f"encoder.depth={options.depth}",
        f"encoder.width={options.width}",
        "evaluate.splits=dev",
        f"task.training.epochs={options.epochs}",
        f"paths.runs={directory}/runs",
        f"paths.cache={directory}/cache",
    ]
    config = read_config(RunConfig, compose(options.overrides, defaults=defaults))
    again = config.model_copy(update={"force": True})
    for title, chosen in (("fill and train", config), ("train", again)):
        with PeakMemory() as memory:
            record = run_job(chosen, print).record
        assert record.updates
        print(
            f"{title}: {memory.own / 2**30:.2f} GiB of its own, "
            f"{memory.mapped / 2**30:.2f} GiB of mapped files; "
            f"gathering {record.seconds['gathering']:.0f} s, fitting {record.seconds['fitting']:.0f} s "
            f"for {record.updates} updates",
            flush=True,
        )


if __name__ == "__main__":
    main()
