"""The frozen encoder's layers for every distinct sentence of a file: computed once, read by every run."""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elmo_bench.commands import spell_command
from elmo_bench.config import StoredType
from elmo_bench.encoders.finite import SHOWN, require_finite
from elmo_bench.encoders.layers import spell_layers
from elmo_bench.encoders.plan import Plan
from elmo_bench.encoders.protocol import Encoder, EncoderCard, Layers
from elmo_bench.encoders.rows import RowFormat, Vectors
from elmo_bench.encoders.shards import ABSENT, Part, Rows, UnitFiles, in_units, locked
from elmo_bench.output import progress_bar
from elmo_bench.types import BenchError, Excerpt, Log, UsageError, Words, log_to_stderr

SHARD_BYTES = 64 * 2**20  # of all layers together; a shard has at least one batch of the plan
FRESH_BYTES = 2 * 2**30  # limit of the mode `off` in memory

Blocks = Callable[[int], list[Rows]]
"""The rows of one sequence, by its index in the plan: one array for each layer that is read."""
Wanted = Mapping[int, tuple[int, ...]]
"""The layers to encode of some shards."""


@dataclass(frozen=True)
class Store:
    """Units of (encoder, dtype, data): on disk, in memory, or computed on demand.

    The modes give the same bits, because all of them encode the same batches and keep the same dtype.
    `off` therefore encodes a whole batch of the plan to obtain one sentence of it. This is cheap if the
    layers of the file fit into its limit of 2 GiB, and expensive otherwise.

    A store reads some of the encoder's layers, and needs and verifies the files of these only. If it has to
    encode, it also keeps the layers `stored`, which other runs will read: an encoder computes all of them.
    """

    root: Path
    card: EncoderCard
    load_encoder: Callable[[], Encoder]  # called only if something must be computed
    dtype: StoredType = "float16"
    mode: Literal["disk", "ram", "off"] = "disk"
    layers: tuple[int, ...] | None = None  # numbers of the layers to read, from below; None: all
    stored: tuple[int, ...] = ()  # mode `disk` only
    progress: bool = True
    log: Log = log_to_stderr

    def open(self, data_fingerprint: str, sequences: Iterable[Words], label: str = "") -> Unit:
        """The layers of *all* sequences of a file; a run that reads a subset also opens the whole file."""
        plan = self.plan(sequences)
        if self.mode == "off":
            blocks: Blocks = FreshBlocks(plan, self._encode)
        elif self.mode == "ram":
            wanted = dict.fromkeys(range(len(plan.shards)), self.read)
            self.log(f"{self._work(plan, wanted)}, kept in memory")
            blocks = StoredBlocks(plan, list(self._encode_shards(plan, wanted)))
        else:
            blocks = StoredBlocks(plan, self._on_disk(plan, data_fingerprint, label))
        return Unit(self.card, [self.formats[layer] for layer in self.read], plan, blocks)

    def plan(self, sequences: Iterable[Words]) -> Plan:
        """How sequences are divided into shards; nothing is read or computed."""
        # All layers count, whichever are read, so that the shards of every layer have the same sentences.
        return Plan.make(sequences, max(1, SHARD_BYTES // self.token_bytes(self.card.layers)))

    @property
    def read(self) -> tuple[int, ...]:
        """The layers to read."""
        return self.card.layers if self.layers is None else self.layers

    @cached_property
    def formats(self) -> list[RowFormat]:
        """How the rows of each layer of the encoder are stored."""
        card = self.card
        return [
            RowFormat(self.dtype, card.dim, repeats_halves=card.repeats_halves and layer == 0)
            for layer in range(card.layer_count)
        ]

    def token_bytes(self, layers: Iterable[int]) -> int:
        """The number of bytes that some layers of a token take."""
        return sum(self.formats[layer].dtype.itemsize for layer in layers)

    @cached_property
    def _encoder(self) -> Encoder:
        encoder = self.load_encoder()
        for key in ("fingerprint", "layer_count", "dim"):
            expected, got = getattr(self.card, key), getattr(encoder, key)
            if expected != got:
                raise BenchError(f"the encoder {self.card.name} should have {key} {expected}, but has {got}")
        return encoder

    def _encode(self, sentences: Sequence[Words]) -> list[Rows]:
        """The rows of one batch of the plan, one array for each layer to read, sentence after sentence."""
        targets = self._allocate(self.read, sum(map(len, sentences)))
        self._encode_into(targets, sentences)
        return list(targets.values())

    def _allocate(self, layers: Iterable[int], tokens: int) -> dict[int, Rows]:
        return {layer: np.empty(tokens, self.formats[layer].dtype) for layer in layers}

    def _encode_into(self, targets: Mapping[int, Rows], sentences: Sequence[Words]) -> None:
        answers = self._encoder.layers(sentences)
        if len(answers) != len(sentences):
            raise BenchError(f"{self.card.name} gave {len(answers)} arrays for {len(sentences)} sentences")
        start = 0
        for words, vectors in zip(sentences, answers, strict=True):
            self._check(words, vectors)
            end = start + len(words)
            for layer, rows in targets.items():
                self._pack(layer, words, vectors[layer], rows[start:end])
            start = end

    def _check(self, words: Words, vectors: Layers) -> None:
        shape = (self.card.layer_count, len(words), self.card.dim)
        if vectors.shape != shape:
            raise BenchError(f"{self.card.name} returned layers of shape {vectors.shape}, expected {shape}")
        if self.card.repeats_halves:
            first, second = np.split(vectors[0], 2, axis=1)
            if not np.array_equal(first, second, equal_nan=True):
                raise BenchError(f"layer 0 of {self.card.name} does not repeat its first half")

    def _pack(self, layer: int, words: Words, vectors: NDArray[np.float32], rows: Rows) -> None:
        if not self.formats[layer].pack(vectors, rows):
            require_finite(self.card.name, words, vectors)
            shown = " ".join(words)[:SHOWN]
            raise BenchError(
                f"{self.card.name} gives values that {self.dtype} cannot hold for {shown!r}; "
                "try store.dtype=float32"
            )

    def _encode_shards(self, plan: Plan, wanted: Wanted) -> Iterator[dict[int, Rows]]:
        """The rows of the layers that are wanted of each shard, by layer, shard after shard."""
        tokens = sum(plan.shards[number].tokens for number in wanted)
        title = f"encoding with {self.card.name}"
        with progress_bar(tokens, "tokens", title, disable=not self.progress, delay=1) as bar:
            for number, layers in wanted.items():
                rows = self._allocate(layers, plan.shards[number].tokens)
                start = 0
                for batch in plan.shards[number].batches:
                    sentences = plan.sequences[batch.start : batch.stop]
                    end = start + sum(map(len, sentences))
                    self._encode_into({layer: of[start:end] for layer, of in rows.items()}, sentences)
                    bar.update(end - start)
                    start = end
                yield rows

    def _on_disk(self, plan: Plan, data_fingerprint: str, label: str) -> list[dict[int, Rows]]:
        files = self._files(plan, data_fingerprint, label)
        parts = [Part(number, layer) for number in range(len(plan.shards)) for layer in self.read]
        suspects = files.faults(parts)
        if suspects:
            with locked(files.directory, self.log):
                faults = files.faults(suspects)  # another process may have filled it in the meantime
                if faults:
                    self._fill(files, plan, faults)
        return [
            {
                layer: self.formats[layer].map(files.path(Part(number, layer)), shard.tokens)
                for layer in self.read
            }
            for number, shard in enumerate(plan.shards)
        ]

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
        tokens = [shard.tokens for shard in plan.shards]
        return UnitFiles.below(self.root, identity, about, tokens, [each.dtype for each in self.formats])

    def _fill(self, files: UnitFiles, plan: Plan, faults: Mapping[Part, str]) -> None:
        self._log_faults(files, faults)
        numbers = sorted({part.shard for part in faults})
        others = [Part(number, layer) for number in numbers for layer in set(self.stored) - set(self.read)]
        missing = sorted([*faults, *files.faults(others)])
        wanted = {number: tuple(part.layer for part in missing if part.shard == number) for number in numbers}
        if len(numbers) < len(plan.shards):
            self.log(f"store: {len(numbers)} of {len(plan.shards)} shards are still to be filled")
        needed = self._bytes(plan, wanted)
        free = shutil.disk_usage(self.root).free
        work = f"{self._work(plan, wanted)}; {in_units(free)} free in {self.root}"
        if needed > free:
            raise UsageError(
                f"{work}: not enough space. Run with store.mode=off, choose another directory with "
                "paths.cache=DIR, or free some space: "
                f"{spell_command('store', ['list', f'paths.cache={self.root.parent}'])} shows what "
                "`store clean` can delete"
            )
        self.log(work)
        files.begin()
        for number, rows in zip(wanted, self._encode_shards(plan, wanted), strict=True):
            for layer, of_layer in rows.items():
                files.write(Part(number, layer), of_layer)

    def _log_faults(self, files: UnitFiles, faults: Mapping[Part, str]) -> None:
        reason = files.wrong_description()
        if reason is None:
            for part, fault in sorted(faults.items()):
                if fault != ABSENT:
                    name = f"shard {part.shard}, layer {part.layer} of {files.directory}"
                    self.log(f"store: {name}: {fault}; computing it again")
        elif reason != ABSENT:
            self.log(f"store: {files.directory}: {reason}; computing it again")

    def _bytes(self, plan: Plan, wanted: Wanted) -> int:
        return sum(plan.shards[number].tokens * self.token_bytes(layers) for number, layers in wanted.items())

    def _work(self, plan: Plan, wanted: Wanted) -> str:
        tokens = sum(plan.shards[number].tokens for number in wanted)
        size = self._bytes(plan, wanted)
        layers = sorted(set().union(*wanted.values()))
        return (
            f"store: {tokens:,} tokens x {round(size / max(tokens, 1)):,} bytes = {in_units(size)} "
            f"from encoder {self.card.name}, {self._describe_layers(layers)}"
        )

    def _describe_layers(self, layers: Sequence[int]) -> str:
        if len(layers) == self.card.layer_count:
            return "all layers"
        return f"{spell_layers(layers)} of {self.card.layer_count}"


class StoredBlocks:
    """Blocks that are stored in arrays, one array per shard and layer."""

    def __init__(self, plan: Plan, shards: Sequence[Mapping[int, Rows]]) -> None:
        self._shards = [list(shard.values()) for shard in shards]
        self._shard_of: list[int] = []
        self._bounds: list[slice] = []
        for number, shard in enumerate(plan.shards):
            start = 0
            for position in (position for batch in shard.batches for position in batch):
                end = start + len(plan.sequences[position])
                self._shard_of.append(number)
                self._bounds.append(slice(start, end))
                start = end

    def __call__(self, position: int) -> list[Rows]:
        bounds = self._bounds[position]
        return [rows[bounds] for rows in self._shards[self._shard_of[position]]]


class FreshBlocks:
    """Blocks computed on demand; the most recently used batches stay in memory."""

    def __init__(self, plan: Plan, encode: Callable[[Sequence[Words]], list[Rows]]) -> None:
        self._plan = plan
        self._encode = encode
        self._batches: OrderedDict[int, EncodedBatch] = OrderedDict()  # by first index
        self._bytes = 0

    def __call__(self, position: int) -> list[Rows]:
        batch = self._plan.batch_of(position)
        if batch.start not in self._batches:
            self._compute(batch)
        self._batches.move_to_end(batch.start)
        return self._batches[batch.start].of(position - batch.start)

    def _compute(self, batch: range) -> None:
        sentences = self._plan.sequences[batch.start : batch.stop]
        ends = list(accumulate(map(len, sentences)))
        self._batches[batch.start] = added = EncodedBatch(self._encode(sentences), ends)
        self._bytes += added.bytes
        while self._bytes > FRESH_BYTES and len(self._batches) > 1:
            _, oldest = self._batches.popitem(last=False)
            self._bytes -= oldest.bytes


@dataclass(frozen=True)
class EncodedBatch:
    """The rows of each layer of a batch, and where its sentences end."""

    layers: list[Rows]
    ends: list[int]

    @property
    def bytes(self) -> int:
        """The memory that the rows take."""
        return sum(rows.nbytes for rows in self.layers)

    def of(self, index: int) -> list[Rows]:
        """The rows of one sentence."""
        start = self.ends[index - 1] if index else 0
        return [rows[start : self.ends[index]] for rows in self.layers]


class Unit:
    """The layers of one file's texts that a run reads, for any excerpts of them."""

    def __init__(self, card: EncoderCard, formats: Sequence[RowFormat], plan: Plan, blocks: Blocks) -> None:
        self.card = card
        self.formats = formats  # one per layer that is read
        self.dtype = formats[0].served
        self._positions = {words: position for position, words in enumerate(plan.sequences)}
        self._blocks = blocks

    def layers(self, words: Words) -> Tensor:
        """(layers, time, dim)"""
        layers, _ = self.batch([Excerpt.whole(words)])
        return layers[0]

    def batch(self, excerpts: Sequence[Excerpt]) -> tuple[Tensor, Tensor]:
        """(rows, layers, time, dim) with zeros at the padding, and (rows, time), true at real tokens."""
        lengths = np.array([len(excerpt) for excerpt in excerpts], dtype=np.int64)
        time = int(lengths.max(initial=0))
        layers = np.zeros((len(excerpts), len(self.formats), time, self.card.dim), self.dtype)
        for row, excerpt in zip(layers, excerpts, strict=True):
            if len(excerpt):
                self._copy(excerpt, row[:, : len(excerpt)])
        mask = np.arange(time) < lengths[:, None]  # (rows, time)
        return torch.from_numpy(layers), torch.from_numpy(mask)

    def _copy(self, excerpt: Excerpt, target: Vectors) -> None:
        position = self._positions.get(excerpt.text)
        if position is None:
            raise BenchError(
                f"the store was not opened for the text {' '.join(excerpt.text)[:80]!r}; "
                "open it with every text of the file"
            )
        for form, rows, vectors in zip(self.formats, self._blocks(position), target, strict=True):
            form.unpack(rows[excerpt.start : excerpt.stop], vectors)
