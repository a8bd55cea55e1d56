"""How a file keeps the vectors of one layer: one row per token.

Eight bits: a token's vector is cut into groups of 64 values, and each group has a scale, the largest absolute
value / 127. One large value, as some transformers have in a few dimensions, then costs precision in its own
group only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elmo_bench.config import StoredType
from elmo_bench.encoders.shards import Rows

GROUP = 64  # values that share a scale
LARGEST = 127
SMALLEST = float(np.finfo(np.float32).tiny)  # a smaller scale counts as zero

Vectors = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class RowFormat:
    """The rows of one layer: `values`, and `scales` if the values have eight bits."""

    stored: StoredType
    dim: int  # of the encoder
    repeats_halves: bool = False  # the vectors are [x; x]; x is stored

    @property
    def width(self) -> int:
        """The number of values that are stored."""
        return self.dim // 2 if self.repeats_halves else self.dim

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The type of a row; its size is the number of bytes per token."""
        if self.stored == "int8":
            groups = -(-self.width // GROUP)
            return np.dtype([("scales", "<f4", (groups,)), ("values", "i1", (groups, GROUP))])
        return np.dtype([("values", np.dtype(self.stored).newbyteorder("<"), (self.width,))])

    @property
    def served(self) -> np.dtype[np.floating[Any]]:
        """The type of the vectors that a run reads; eight bits are read as float16."""
        return np.dtype("float16" if self.stored == "int8" else self.stored)

    def map(self, path: Path, tokens: int) -> Rows:
        """The rows of a file, which has been verified, as a memory-mapped array."""
        # numpy keeps a file descriptor for every map, torch keeps none; a unit may have thousands of files.
        # Torch copies on write, because it refuses read-only memory; this package never writes to it.
        size = path.stat().st_size
        content = torch.from_file(str(path), shared=False, size=size, dtype=torch.uint8).numpy()
        return content[size - tokens * self.dtype.itemsize :].view(self.dtype)

    def pack(self, vectors: NDArray[np.float32], rows: Rows) -> bool:
        """Write float32 vectors (time, dim) into rows; false if they are not finite once stored."""
        given = torch.from_numpy(vectors[:, : self.width])
        values = torch.from_numpy(rows["values"])
        if self.stored != "int8":
            values.copy_(given)  # torch casts to half ten times faster than numpy
            return bool(values.isfinite().all())
        scales, rounded = quantise(given)
        torch.from_numpy(rows["scales"]).copy_(scales)
        values.copy_(rounded)
        return bool((scales * LARGEST <= torch.finfo(torch.float16).max).all())

    def unpack(self, rows: Rows, vectors: Vectors) -> None:
        """Read rows into vectors (time, dim) of the type `served`."""
        width = self.width
        if self.stored == "int8":
            values = torch.from_numpy(rows["values"]) * torch.from_numpy(rows["scales"])[:, :, None]
            torch.from_numpy(vectors)[:, :width] = values.flatten(1)[:, :width]
        else:
            vectors[:, :width] = rows["values"]
        if self.repeats_halves:
            vectors[:, width:] = vectors[:, :width]


def quantise(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """(time, dim) -> float32 scales (time, groups) and int8 values (time, groups, 64), padded with zeros."""
    padding = -vectors.shape[1] % GROUP
    grouped = torch.nn.functional.pad(vectors, (0, padding)).reshape(len(vectors), -1, GROUP)
    scales = grouped.abs().amax(dim=2) / LARGEST
    scales = scales.where(scales.isnan() | (scales >= SMALLEST), torch.zeros(()))
    divisors = scales.where(scales.isfinite() & (scales > 0), torch.ones(()))
    rounded = (grouped / divisors[:, :, None]).round().clamp(-LARGEST, LARGEST)
    return scales, rounded.nan_to_num().to(torch.int8)
