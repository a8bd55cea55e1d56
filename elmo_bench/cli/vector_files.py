"""Files of vectors, laid out first and then filled in order, so that a killed job can be resumed.

All sizes are known once the tokens are counted. The file is therefore created at its full size, without
values, and every sentence is written at its own offset. Nothing that describes the file changes while it is
filled, so neither kill -9 nor a full disk can damage it. HDF5 has the layout of the reference
implementation's dumps.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from elmo_bench.files import move_into_place, write_atomically
from elmo_bench.types import UsageError

HDF5_SUFFIXES = (".hdf5", ".h5")
SUFFIXES = (*HDF5_SUFFIXES, ".safetensors")
IDENTITY = "elmo_bench"
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Layout:
    """The content of a file of vectors: one (layers, tokens, dim) array per line, by line index."""

    lengths: Sequence[int]  # tokens of each line
    layers: int
    dim: int
    identity: str  # of the sentences and the encoder

    def shape(self, line: int) -> tuple[int, int, int]:
        """The shape of one line's array."""
        return (self.layers, self.lengths[line], self.dim)

    def byte_count(self, first: int = 0) -> int:
        """The number of bytes of all values from a line onwards."""
        return self.layers * self.dim * FLOAT_BYTES * sum(self.lengths[first:])


class VectorFile:
    """A laid-out file being filled; it gets its final name only when it is complete."""

    def __init__(self, path: Path, layout: Layout) -> None:
        if path.suffix not in SUFFIXES:
            raise UsageError(
                f"{path}: expected a name that ends in {', '.join(SUFFIXES)}, got {path.suffix!r}"
            )
        self.path = path
        self.layout = layout
        self._unfinished = path.with_name(path.name + ".part")
        self._progress = path.with_name(path.name + ".part.json")

    def is_complete(self) -> bool:
        """Whether the file exists with exactly this content; a file with other content is refused."""
        if not self.path.exists():
            return False
        if _read_identity(self.path) != self.layout.identity:
            raise UsageError(
                f"{self.path}: holds vectors of other sentences or another model; choose another name"
            )
        return True

    def lines_done(self) -> int:
        """How many lines an earlier job has written."""
        try:
            found = json.loads(self._progress.read_text(encoding="utf-8"))
            is_ours = found["identity"] == self.layout.identity and self._unfinished.is_file()
            return int(found["lines"]) if is_ours else 0
        except (FileNotFoundError, json.JSONDecodeError, KeyError):
            return 0

    def fill(self, blocks: Iterator[Sequence[NDArray[np.float32]]]) -> Iterator[int]:
        """Write block after block from the first line not done; yields the number of lines done so far."""
        line = self.lines_done()
        if line == 0:
            self._lay_out()
        places = self._places(line)
        with self._unfinished.open("r+b") as file:
            for block in blocks:
                for array in block:
                    if array.size:
                        file.seek(next(places))
                        file.write(np.ascontiguousarray(array, "<f4").data)
                    else:
                        next(places)
                line += len(block)
                file.flush()
                os.fsync(file.fileno())
                self._note(line)
                yield line
        move_into_place(self._unfinished, self.path)
        self._progress.unlink()

    def _lay_out(self) -> None:
        self._progress.unlink(missing_ok=True)
        is_hdf5 = self.path.suffix in HDF5_SUFFIXES
        (_lay_out_hdf5 if is_hdf5 else _lay_out_safetensors)(self._unfinished, self.layout)

    def _note(self, lines: int) -> None:
        progress = {"identity": self.layout.identity, "lines": lines}
        write_atomically(self._progress, json.dumps(progress).encode())

    def _places(self, first: int) -> Iterator[int]:
        """The byte offset of each line's values, from a line onwards."""
        lines = range(first, len(self.layout.lengths))
        if self.path.suffix in HDF5_SUFFIXES:
            with h5py.File(self._unfinished, "r") as file:
                return iter([file[str(line)].id.get_offset() or 0 for line in lines])
        with self._unfinished.open("rb") as opened:
            (header,) = struct.unpack("<Q", opened.read(8))
        per_token = self.layout.layers * self.layout.dim * FLOAT_BYTES
        tokens = accumulate(self.layout.lengths, initial=0)
        return (8 + header + per_token * before for before in islice(tokens, first, None))


def _lay_out_hdf5(path: Path, layout: Layout) -> None:
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_layout(h5py.h5d.CONTIGUOUS)
    plan.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    plan.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    plan.set_obj_track_times(False)  # the same vectors, the same bytes
    with h5py.File(path, "w") as file:
        file.attrs[IDENTITY] = layout.identity
        for line in range(len(layout.lengths)):
            space = h5py.h5s.create_simple(layout.shape(line))
            h5py.h5d.create(file.id, str(line).encode(), h5py.h5t.IEEE_F32LE, space, plan)


def _lay_out_safetensors(path: Path, layout: Layout) -> None:
    header: dict[str, object] = {"__metadata__": {IDENTITY: layout.identity}}
    start = 0
    for line in range(len(layout.lengths)):
        end = start + FLOAT_BYTES * int(np.prod(layout.shape(line)))
        header[str(line)] = {"dtype": "F32", "shape": layout.shape(line), "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # values begin at a multiple of eight
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + start)


def _read_identity(path: Path) -> str | None:
    """The description stored in a file; None if another program wrote the file."""
    try:
        if path.suffix in HDF5_SUFFIXES:
            with h5py.File(path, "r") as file:
                return str(file.attrs[IDENTITY])
        with path.open("rb") as opened:
            (size,) = struct.unpack("<Q", opened.read(8))
            return str(json.loads(opened.read(min(size, 1 << 30)))["__metadata__"][IDENTITY])
    except (OSError, KeyError, ValueError, struct.error):
        return None
