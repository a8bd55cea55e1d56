"""Files of vectors, laid out first and then filled in blocks, so that a killed job can be resumed.

All sizes are known once the tokens are counted. The file is therefore created at its full size, without
values, and every sentence is written at its own offset. Nothing that describes the file changes while it is
filled, so neither kill -9 nor a full disk can damage it. The hash of every block is noted, so a job that
resumes writes again what has been damaged since. The notes of one of several parts stay beside it: parts are
copied between machines before they are joined. HDF5 has the layout of the reference implementation's dumps.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import h5py
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from elmo_bench.files import immediate_lock, is_plain_file, move_into_place, write_atomically
from elmo_bench.types import DamagedFileError, UsageError

HDF5_SUFFIXES = (".hdf5", ".h5")
SUFFIXES = (*HDF5_SUFFIXES, ".safetensors")
HASHES = ".hashes.json"  # the ending of the notes of a part
IDENTITY = "elmo_bench"
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Layout:
    """The content of a file of vectors: one (layers, tokens, dim) array per line, by line index."""

    lengths: Sequence[int]  # tokens of each line
    layers: int
    dim: int
    identity: str  # of the sentences and the encoder
    first: int = 0  # index of the first line in the whole file of sentences

    def key(self, line: int) -> str:
        """The name of a line's array: the line's index in the whole file of sentences."""
        return str(self.first + line)

    def shape(self, line: int) -> tuple[int, int, int]:
        """The shape of one line's array."""
        return (self.layers, self.lengths[line], self.dim)

    def byte_count(self, lines: Iterable[int]) -> int:
        """The number of bytes of the values of some lines."""
        return self.layers * self.dim * FLOAT_BYTES * sum(self.lengths[line] for line in lines)

    @cached_property
    def tokens_before(self) -> NDArray[np.int64]:
        """The number of tokens in front of each line."""
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])


class VectorFile:
    """A laid-out file being filled, block by block; it gets its final name only when it is complete.

    A block is a range of lines. Several processes may write different blocks at the same time; one process
    notes which blocks are written.
    """

    def __init__(self, path: Path, layout: Layout, is_part: bool = False) -> None:
        self.check_name(path)
        self.path = path
        self.layout = layout
        self._hashes = path.with_name(path.name + HASHES) if is_part else None
        self._unfinished = path.with_name(path.name + ".part")
        self._progress = path.with_name(path.name + ".part.json")
        self._written: dict[range, str] = {}  # hashes of blocks
        self._frame = ""  # the hash of everything but values

    @staticmethod
    def check_name(path: Path) -> None:
        """The ending of the name decides the format."""
        if path.suffix not in SUFFIXES:
            raise UsageError(
                f"{path}: expected a name that ends in {', '.join(SUFFIXES)}, got {path.suffix!r}"
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse to fill the file while another process does."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        with immediate_lock(lock, f"{self.path}: another process is writing it"):
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)

    def is_complete(self) -> bool:
        """Whether the file exists with exactly this content; a file with other content is refused."""
        if not self.path.exists():
            return False
        if _read_identity(self.path) != self.layout.identity:
            raise UsageError(
                f"{self.path}: holds vectors of other sentences or another model; choose another name"
            )
        return True

    def tidy(self) -> None:
        """Remove the notes that a process has left which was killed after the file got its name."""
        if is_plain_file(self._progress):
            self._progress.unlink()

    def missing(self, blocks: Iterable[range]) -> list[range]:
        """The blocks that earlier jobs have not written, or that have been damaged since."""
        self._read_progress()
        # An earlier job may have had other blocks.
        there = {line for block in self._written for line in block}
        return [block for block in blocks if not there.issuperset(block)]

    def lay_out(self) -> None:
        """Create the file at its full size, unless an earlier job has begun it."""
        if self._written:
            return
        self._progress.unlink(missing_ok=True)
        self._unfinished.unlink(missing_ok=True)  # a worker that was left over may still write to it
        is_hdf5 = self.path.suffix in HDF5_SUFFIXES
        (_lay_out_hdf5 if is_hdf5 else _lay_out_safetensors)(self._unfinished, self.layout)
        self._frame = self._hash_frame()

    def open_unfinished(self) -> BinaryIO:
        """The file while it is being filled, for `write_values`."""
        return self._unfinished.open("r+b")

    def write(self, block: range, arrays: Sequence[NDArray[np.float32]]) -> None:
        """Write the arrays of a block's lines; they are on the disk when this returns."""
        with self.open_unfinished() as file:
            write_values(file.fileno(), self.places(block), arrays)

    def note(self, block: range) -> None:
        """Remember that a block is written."""
        self._written[block] = self._hash_values(block)
        write_atomically(self._progress, self._spell_notes())

    def _spell_notes(self) -> bytes:
        notes = {
            "identity": self.layout.identity,
            "frame": self._frame,
            "written": [[lines.start, lines.stop, digest] for lines, digest in self._written.items()],
        }
        return json.dumps(notes).encode()

    def finish(self) -> None:
        """Give the complete file its name."""
        if self._hashes:
            write_atomically(self._hashes, self._spell_notes())
        move_into_place(self._unfinished, self.path)
        self.tidy()

    def read(self, blocks: Iterable[range]) -> Iterator[list[NDArray[np.float32]]]:
        """The arrays of a complete file, block by block; those of a part are compared with its notes."""
        blocks = list(blocks)
        noted = self._read_hashes() if self._hashes else None
        try:
            for block, arrays in zip(blocks, self._read_blocks(blocks), strict=True):
                if noted is not None and noted.get(block) != _hash_arrays(arrays):
                    raise ValueError("its values are not those of its notes")
                yield arrays
        except (OSError, LookupError, RuntimeError, TypeError, ValueError, SafetensorError) as error:
            raise DamagedFileError(f"{self.path}: damaged ({error}); remove it and make it again") from error

    def _read_hashes(self) -> dict[range, str]:
        """The hashes of the blocks of a part, by the notes beside it."""
        assert self._hashes is not None
        try:
            written = json.loads(self._hashes.read_text(encoding="utf-8"))["written"]
            return {range(first, last): digest for first, last, digest in written}
        except (OSError, LookupError, TypeError, ValueError) as error:
            raise DamagedFileError(
                f"{self._hashes}: missing or damaged; copy it along with {self.path.name}, or remove "
                "both and make the part again"
            ) from error

    def _read_blocks(self, blocks: Iterable[range]) -> Iterator[list[NDArray[np.float32]]]:
        if self.path.suffix in HDF5_SUFFIXES:
            with h5py.File(self.path, "r") as file:
                for block in blocks:
                    yield [file[self.layout.key(line)][()] for line in block]
        else:
            with safe_open(self.path, framework="numpy") as file:
                for block in blocks:
                    yield [file.get_tensor(self.layout.key(line)) for line in block]

    def _read_progress(self) -> None:
        """Take over what an earlier job has written, as far as it is there unchanged."""
        if not (is_plain_file(self._unfinished) and is_plain_file(self._progress)):
            return
        try:
            found = json.loads(self._progress.read_text(encoding="utf-8"))
            if (found["identity"], found["frame"]) != (self.layout.identity, self._hash_frame()):
                return
            noted = {range(first, last): digest for first, last, digest in found["written"]}
            intact = {block: digest for block, digest in noted.items() if digest == self._hash_values(block)}
        except (OSError, LookupError, RuntimeError, TypeError, ValueError, struct.error):
            return  # one of the two files is damaged, or of another version
        self._written, self._frame = intact, found["frame"]

    def _hash_values(self, block: range) -> str:
        """The hash of the values of a block's lines, as they are in the file."""
        digest = hashlib.sha256()
        with self._unfinished.open("rb") as file:
            for place, line in zip(self.places(block), block, strict=True):
                file.seek(place)
                digest.update(file.read(self.layout.byte_count([line])))
        return digest.hexdigest()

    def _hash_frame(self) -> str:
        """The hash of everything in the file that is no value."""
        lines = range(len(self.layout.lengths))
        sizes = [self.layout.byte_count([line]) for line in lines]
        values = sorted((place, size) for place, size in zip(self.places(lines), sizes, strict=True) if size)
        digest = hashlib.sha256()
        end = 0
        with self._unfinished.open("rb") as file:
            for place, size in values:
                file.seek(end)
                digest.update(file.read(place - end))
                end = place + size
            file.seek(end)
            digest.update(file.read())
            digest.update(str(file.seek(0, os.SEEK_END)).encode())
        return digest.hexdigest()

    def places(self, block: range) -> list[int]:
        """The byte offset of the values of each line of a block."""
        if self.path.suffix in HDF5_SUFFIXES:
            with h5py.File(self._unfinished, "r") as file:
                return [file[self.layout.key(line)].id.get_offset() or 0 for line in block]
        with self._unfinished.open("rb") as opened:
            (header,) = struct.unpack("<Q", opened.read(8))
        per_token = self.layout.layers * self.layout.dim * FLOAT_BYTES
        return [8 + header + per_token * int(self.layout.tokens_before[line]) for line in block]


def write_values(descriptor: int, places: Sequence[int], arrays: Sequence[NDArray[np.float32]]) -> None:
    """Write arrays at their places in an open file; they are on the disk when this returns."""
    for place, array in zip(places, arrays, strict=True):
        values = np.ascontiguousarray(array, "<f4").data.cast("B") if array.size else memoryview(b"")
        while values:
            count = os.pwrite(descriptor, values, place)
            values, place = values[count:], place + count
    os.fsync(descriptor)


def _hash_arrays(arrays: Iterable[NDArray[np.float32]]) -> str:
    """The hash of values as `VectorFile` notes it of a block."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, "<f4").tobytes())
    return digest.hexdigest()


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
            h5py.h5d.create(file.id, layout.key(line).encode(), h5py.h5t.IEEE_F32LE, space, plan)


def _lay_out_safetensors(path: Path, layout: Layout) -> None:
    header: dict[str, object] = {"__metadata__": {IDENTITY: layout.identity}}
    start = 0
    for line in range(len(layout.lengths)):
        end = start + FLOAT_BYTES * int(np.prod(layout.shape(line)))
        header[layout.key(line)] = {"dtype": "F32", "shape": layout.shape(line), "data_offsets": [start, end]}
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
    except (OSError, LookupError, RuntimeError, TypeError, ValueError, struct.error):
        return None
