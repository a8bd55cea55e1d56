"""What decides a biLM's weights and its vectors, hashed without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from elmo_bench.bilm.array_files import Array, hash_arrays, read_arrays
from elmo_bench.bilm.layout import expected_shapes
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.bilm.trained import check_against_record
from elmo_bench.hashing import hash_value

StateProtocol = Literal["reset", "carry"]
Precision = Literal["float32", "bfloat16"]

BILM_NUMERICS = 1
"""Increase it when the same pre-training gives different weights."""

ENGINE_NUMERICS = 1
"""Increase it when the engine's numbers change."""


def fingerprint_arrays(
    options: BilmOptions, arrays: Mapping[str, Array], state: StateProtocol, precision: Precision
) -> str:
    """sha256 of everything that decides a vector: sizes, weights, state, precision, the engine's numerics.

    The arrays are those of a weight file; half precision is widened, as loading does.
    """
    wide = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
    sizes = {**options.model_dump(), "maximum_characters": options.maximum_characters}
    return hash_value([ENGINE_NUMERICS, sizes, hash_arrays(wide), state, precision])


def fingerprint_file(options: BilmOptions, weights: Path, state: StateProtocol, precision: Precision) -> str:
    """The fingerprint of the model that a weight file holds."""
    arrays = read_arrays(weights, expected_shapes(options))
    check_against_record(weights, options, arrays)
    return fingerprint_arrays(options, arrays, state, precision)


def count_parameters(options: BilmOptions) -> int:
    """The number of weights of a model; its row of zeros for missing characters is in no file."""
    shapes = expected_shapes(options).values()
    return sum(int(np.prod(shape)) for shape in shapes) + options.character_dim
