"""How near the store and the mix come to moving the same bytes plainly; ratios measured side by side.

python -m benchmarks.store --dim 256 --tokens 200000
python -m benchmarks.store --dim 768 --layers 13 --tokens 50000      the shape of BERT-base
"""

from __future__ import annotations

import argparse
import hashlib
import random
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.gradients import peak_memory
from benchmarks.timing import medians, seconds_of
from elmo_bench.config import StoredType
from elmo_bench.encoders.mix import ScalarMix, normalise
from elmo_bench.encoders.protocol import EncoderCard, Layers
from elmo_bench.encoders.shards import in_units
from elmo_bench.encoders.store import Store, Unit
from elmo_bench.types import Excerpt, Words

BATCH = 32
DTYPES: tuple[StoredType, ...] = ("float16", "int8")
ROUNDS = 7


class FreeEncoder:
    """Answers at once, so that what is measured is the store's own work."""

    fingerprint = "free" * 16

    def __init__(self, layer_count: int, dim: int) -> None:
        self.layer_count, self.dim = layer_count, dim
        half = np.random.default_rng(0).normal(size=(layer_count, 200, dim // 2)).astype(np.float32)
        self._layers: Layers = np.concatenate([half, half], axis=2)  # (layers, time, dim)

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        return [self._layers[:, : len(words)] for words in sentences]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dim", type=int, default=256, help="256: the small biLM; 1024: the original")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=200_000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    text = make_text(options.tokens)
    encoder = FreeEncoder(options.layers, options.dim)
    card = EncoderCard("free", encoder.fingerprint, options.layers, options.dim, repeats_halves=True)
    tokens = sum(map(len, text))
    for dtype in DTYPES:
        with tempfile.TemporaryDirectory() as directory:
            store = Store(Path(directory), card, lambda: encoder, dtype, progress=False, log=lambda _: None)
            stored = store.token_bytes(card.layers) * tokens
            seconds = seconds_of(partial(store.open, "benchmark", text))
            print(f"{dtype}: {in_units(stored)} for {tokens:,} tokens")
            print(f"fill        {tokens / seconds:12,.0f} tokens/s beside an encoder that costs nothing")
            unit = store.open("benchmark", text)
            compare_opening(store, text)
            compare_reading(unit, text, stored)
    compare_mixing(unit, text[:BATCH])


def make_text(tokens: int) -> list[Words]:
    """Sentences of 22 words on average, in no order."""
    chooser = random.Random(1)
    text: list[Words] = []
    while tokens > 0:
        length = min(max(1, round(chooser.gauss(22, 10))), 60)
        text.append(tuple(str(chooser.randrange(10**6)) for _ in range(length)))
        tokens -= length
    return text


def compare_opening(store: Store, text: list[Words]) -> None:
    """Opening verifies every byte; the bound is one thread hashing the same files."""
    files = sorted(store.root.rglob("*.npy"))

    def hash_plainly() -> None:
        for path in files:
            hashlib.sha256(path.read_bytes()).digest()

    ours, plain = medians([lambda: store.open("benchmark", text), hash_plainly], ROUNDS)
    print_ratio("open", "one thread hashing the files", ours, plain)


def compare_reading(unit: Unit, text: list[Words], stored: int) -> None:
    """An epoch in random batches; the bound is one copy of the padded bytes it delivers."""
    whole = list(map(Excerpt.whole, text))
    batches = [whole[start : start + BATCH] for start in range(0, len(whole), BATCH)]
    blank = [np.ones(unit.batch(batch)[0].shape, unit.dtype) for batch in batches]

    def read() -> None:
        for batch in batches:
            unit.batch(batch)

    def copy() -> None:
        for layers in blank:
            layers.copy()

    ours, plain = medians([read, copy], ROUNDS)
    print(
        f"read        {stored / ours / 1e9:12.1f} GB/s of stored bytes, "
        f"{1e6 * ours / len(batches):.0f} µs a batch"
    )
    print_ratio("read", "copying what it delivers", ours, plain)


def compare_mixing(unit: Unit, text: list[Words]) -> None:
    """Forward and backward of one batch, beside the formula as it is written."""
    layers, mask = unit.batch(list(map(Excerpt.whole, text)))
    for layer_norm in (False, True):
        mix = ScalarMix(layers.shape[1], layer_norm=layer_norm)
        assert mix.w is not None
        weights, gamma = mix.w, mix.gamma

        def mixed(mix: ScalarMix = mix) -> None:
            torch.autograd.backward(mix(layers, mask).sum())

        def as_written(layer_norm: bool = layer_norm, w: Tensor = weights, gamma: Tensor = gamma) -> None:
            whole = normalise(layers.float(), mask) if layer_norm else layers.float()
            total = torch.stack([share * whole[:, j] for j, share in enumerate(w.softmax(dim=0))]).sum(dim=0)
            torch.autograd.backward((gamma * total).sum())

        ours, plain = medians([mixed, as_written], ROUNDS)
        name = "mix, norm" if layer_norm else "mix"
        print_ratio(name, "the formula on float32", ours, plain)
        most = [peak_memory(action) / 2**20 for action in (mixed, as_written)]
        print(f"            memory {most[0]:.0f} MiB; {most[1]:.0f} MiB; ratio {most[0] / most[1]:.2f}")


def print_ratio(name: str, bound: str, ours: float, plain: float) -> None:
    print(f"{name:10}  {ours * 1e3:9.2f} ms; {bound}: {plain * 1e3:.2f} ms; ratio {ours / plain:.2f}")


if __name__ == "__main__":
    main()
