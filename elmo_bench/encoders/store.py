"""The frozen encoder's layers for every distinct sentence of a file: computed once, read by every run."""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from elmo_bench.commands import spell_command
from elmo_bench.encoders.plan import Plan
from elmo_bench.encoders.protocol import Encoder, EncoderCard, Layers
from elmo_bench.encoders.shards import UnitFiles, Values, in_units, locked
from elmo_bench.types import BenchError, Log, UsageError, Words, log_to_stderr

SHARD_BYTES = 64 * 2**20
FRESH_BYTES = 2 * 2**30  # limit of the mode `off` in memory

Blocks = Callable[[int], Values]
"""The values of one sequence, by its index in the plan: flat, one layer after the other."""


@dataclass(frozen=True)
class Store:
    """Units of (encoder, dtype, data): on disk, in memory, or computed on demand.

    The modes give the same bits, because all of them encode the same batches and keep the same dtype.
    `off` therefore encodes a whole batch of the plan to obtain one sentence of it. This is cheap if the
    layers of the file fit into its limit of 2 GiB, and expensive otherwise.
    """

    root: Path
    card: EncoderCard
    load_encoder: Callable[[], Encoder]  # called only if something must be computed
    dtype: Literal["float16", "float32"] = "float16"
    mode: Literal["disk", "ram", "off"] = "disk"
    progress: bool = True
    log: Log = log_to_stderr

    def open(self, data_fingerprint: str, sequences: Iterable[Words], label: str = "") -> Unit:
        """The layers of *all* sequences of a file; a run that reads a subset also opens the whole file."""
        plan = Plan.make(sequences, max(1, SHARD_BYTES // self.token_bytes))
        every = range(len(plan.shards))
        if self.mode == "off":
            blocks: Blocks = FreshBlocks(plan, self.encode)
        elif self.mode == "ram":
            self.log(f"{self._work(plan, every)}, kept in memory")
            blocks = StoredBlocks(plan, list(self._encode_shards(plan, every)), self.token_values)
        else:
            blocks = StoredBlocks(plan, self._on_disk(plan, data_fingerprint, label), self.token_values)
        return Unit(self.card, np.dtype(self.dtype), plan, blocks)

    @property
    def token_values(self) -> int:
        """The number of values stored per token; the repeated half of layer 0 is stored once."""
        return self.card.layer_count * self.card.dim - (self.card.dim // 2 if self.card.repeats_halves else 0)

    @property
    def token_bytes(self) -> int:
        return self.token_values * np.dtype(self.dtype).itemsize

    def encode(self, sentences: Sequence[Words]) -> Values:
        """The values of one batch of the plan, sentence after sentence."""
        values = np.empty(sum(map(len, sentences)) * self.token_values, self.dtype)
        self._encode_into(values, sentences)
        return values

    @cached_property
    def _encoder(self) -> Encoder:
        encoder = self.load_encoder()
        for key in ("fingerprint", "layer_count", "dim"):
            expected, got = getattr(self.card, key), getattr(encoder, key)
            if expected != got:
                raise BenchError(f"the encoder {self.card.name} should have {key} {expected}, but has {got}")
        return encoder

    def _encode_into(self, values: Values, sentences: Sequence[Words]) -> None:
        answers = self._encoder.layers(sentences)
        if len(answers) != len(sentences):
            raise BenchError(f"{self.card.name} gave {len(answers)} arrays for {len(sentences)} sentences")
        start = 0
        for words, layers in zip(sentences, answers, strict=True):
            end = start + len(words) * self.token_values
            self._pack(values[start:end], words, layers)
            start = end

    def _pack(self, block: Values, words: Words, layers: Layers) -> None:
        shape = (self.card.layer_count, len(words), self.card.dim)
        if layers.shape != shape:
            raise BenchError(f"{self.card.name} returned layers of shape {layers.shape}, expected {shape}")
        parts = [layers]
        if self.card.repeats_halves:
            first, second = np.split(layers[:1], 2, axis=2)
            if not np.array_equal(first, second, equal_nan=True):
                raise BenchError(f"layer 0 of {self.card.name} does not repeat its first half")
            parts = [first, layers[1:]]
        kept, start = torch.from_numpy(block), 0  # torch casts to half ten times faster than numpy
        for part in parts:
            kept[start : start + part.size].view(part.shape).copy_(torch.from_numpy(part))
            start += part.size
        if not kept.isfinite().all():
            raise BenchError(
                f"{self.card.name} gives values that {self.dtype} cannot hold for {' '.join(words)[:80]!r}; "
                f"try store.dtype=float32"
            )

    def _encode_shards(self, plan: Plan, numbers: Sequence[int]) -> Iterator[Values]:
        tokens = sum(plan.shards[number].tokens for number in numbers)
        title = f"encoding with {self.card.name}"
        with tqdm(
            total=tokens, desc=title, unit=" tokens", unit_scale=True, disable=not self.progress, delay=1
        ) as bar:
            for number in numbers:
                values = np.empty(plan.shards[number].tokens * self.token_values, self.dtype)
                start = 0
                for batch in plan.shards[number].batches:
                    sentences = plan.sequences[batch.start : batch.stop]
                    tokens = sum(map(len, sentences))
                    end = start + tokens * self.token_values
                    self._encode_into(values[start:end], sentences)
                    start = end
                    bar.update(tokens)
                yield values

    def _on_disk(self, plan: Plan, data_fingerprint: str, label: str) -> list[Values]:
        files = self._files(plan, data_fingerprint, label)
        every = range(len(plan.shards))
        suspects = files.faults(every)
        if suspects:
            with locked(files.directory, self.log):
                faults = files.faults(list(suspects))  # another process may have filled it in the meantime
                if faults:
                    self._fill(files, plan, faults)
        return [files.map(number) for number in every]

    def _files(self, plan: Plan, data_fingerprint: str, label: str) -> UnitFiles:
        identity: dict[str, Any] = {
            "encoder": self.card.fingerprint,
            "data": data_fingerprint,
            "sequences": plan.digest,
            "dtype": self.dtype,
        }
        about = {
            "encoder": self.card.name,
            "data": label,
            "sequences": len(plan.sequences),
            "tokens": plan.tokens,
            "shards": len(plan.shards),
            **{key: asdict(self.card)[key] for key in ("layer_count", "dim", "repeats_halves")},
        }
        sizes = [shard.tokens * self.token_values for shard in plan.shards]
        return UnitFiles.below(self.root, identity, about, sizes)

    def _fill(self, files: UnitFiles, plan: Plan, faults: dict[int, str]) -> None:
        numbers = sorted(faults)
        for number in numbers:
            if faults[number] != "not there":
                self.log(f"store: shard {number} of {files.directory}: {faults[number]}; computing it again")
        if len(numbers) < len(plan.shards):
            self.log(f"store: {len(numbers)} of {len(plan.shards)} shards are still to be filled")
        needed = sum(plan.shards[number].tokens for number in numbers) * self.token_bytes
        free = shutil.disk_usage(self.root).free
        work = f"{self._work(plan, numbers)}; {in_units(free)} free in {self.root}"
        if needed > free:
            raise UsageError(
                f"{work}: not enough space. Run with store.mode=off, free some space "
                f"({spell_command('store', ['clean'])}), or choose another directory with paths.cache=DIR"
            )
        self.log(work)
        files.begin()
        for number, values in zip(numbers, self._encode_shards(plan, numbers), strict=True):
            files.write(number, values)

    def _work(self, plan: Plan, numbers: Sequence[int]) -> str:
        tokens = sum(plan.shards[number].tokens for number in numbers)
        return (
            f"store: {tokens:,} tokens x {self.token_bytes:,} bytes = "
            f"{in_units(tokens * self.token_bytes)} from encoder {self.card.name}"
        )


class StoredBlocks:
    """Blocks that are stored in arrays, one array per shard."""

    def __init__(self, plan: Plan, shards: Sequence[Values], token_values: int) -> None:
        self._shards = shards
        self._shard_of: list[int] = []
        self._bounds: list[slice] = []
        for number, shard in enumerate(plan.shards):
            start = 0
            for position in (position for batch in shard.batches for position in batch):
                end = start + len(plan.sequences[position]) * token_values
                self._shard_of.append(number)
                self._bounds.append(slice(start, end))
                start = end

    def __call__(self, position: int) -> Values:
        return self._shards[self._shard_of[position]][self._bounds[position]]


class FreshBlocks:
    """Blocks computed on demand; the most recently used batches stay in memory."""

    def __init__(self, plan: Plan, encode: Callable[[Sequence[Words]], Values]) -> None:
        self._plan = plan
        self._encode = encode
        self._batches: OrderedDict[int, list[Values]] = OrderedDict()  # by first index
        self._bytes = 0

    def __call__(self, position: int) -> Values:
        batch = self._plan.batch_of(position)
        if batch.start not in self._batches:
            self._compute(batch)
        self._batches.move_to_end(batch.start)
        return self._batches[batch.start][position - batch.start]

    def _compute(self, batch: range) -> None:
        sentences = self._plan.sequences[batch.start : batch.stop]
        values = self._encode(sentences)
        ends = np.cumsum([len(words) for words in sentences])
        self._batches[batch.start] = np.split(values, ends[:-1] * (len(values) // ends[-1]))
        self._bytes += values.nbytes
        while self._bytes > FRESH_BYTES and len(self._batches) > 1:
            _, oldest = self._batches.popitem(last=False)
            self._bytes -= sum(block.nbytes for block in oldest)


class Unit:
    """The layers of one file's sequences, for any subset of them, in the store's dtype."""

    def __init__(self, card: EncoderCard, dtype: np.dtype[Any], plan: Plan, blocks: Blocks) -> None:
        self.card = card
        self.dtype = dtype
        self._positions = {words: position for position, words in enumerate(plan.sequences)}
        self._blocks = blocks

    def layers(self, words: Words) -> Tensor:
        """(layers, time, dim)"""
        layers, _ = self.batch([words])
        return layers[0]

    def batch(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        """(rows, layers, time, dim) with zeros at the padding, and (rows, time), true at real tokens."""
        lengths = np.array([len(words) for words in sentences], dtype=np.int64)
        time = int(lengths.max(initial=0))
        layers = np.zeros((len(sentences), self.card.layer_count, time, self.card.dim), self.dtype)
        for row, words in zip(layers, sentences, strict=True):
            if words:
                self._copy(words, row[:, : len(words)])
        mask = np.arange(time) < lengths[:, None]  # (rows, time)
        return torch.from_numpy(layers), torch.from_numpy(mask)

    def _copy(self, words: Words, target: Values) -> None:
        position = self._positions.get(words)
        if position is None:
            raise BenchError(
                f"the store was not opened for the sentence {' '.join(words)[:80]!r}; "
                f"open it with every sentence of the file"
            )
        block, (layers, time, dim) = self._blocks(position), target.shape
        if not self.card.repeats_halves:
            target[...] = block.reshape(layers, time, dim)
            return
        half = time * dim // 2
        first = block[:half].reshape(time, dim // 2)
        target[0, :, : dim // 2] = first
        target[0, :, dim // 2 :] = first
        target[1:] = block[half:].reshape(layers - 1, time, dim)
