"""Named arrays in HDF5 and safetensors files, read without trusting them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from elmo_bench.files import atomic_path, scratch_directory
from elmo_bench.types import DamagedFileError, DataError, DataMissingError

Array = NDArray[np.generic]
Shapes = Mapping[str, tuple[int, ...]]

SAFETENSORS_DTYPES = ("F32", "F16")


def read_arrays(path: Path, shapes: Shapes) -> dict[str, Array]:
    """The arrays of a weight file, exactly those of `shapes`; all metadata are checked before reading."""
    if not path.is_file():
        raise DataMissingError(f"{path}: no such weight file")
    arrays = _read_safetensors(path, shapes) if path.suffix == ".safetensors" else _read_hdf5(path, shapes)
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise DataError(
                f"{path}: expected finite numbers in {name}, got NaN or infinity; the file is damaged"
            )
    return arrays


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> str:
    """Write arrays as HDF5 or safetensors, by the suffix; return the sha256 of their content."""
    digest = hash_arrays(arrays)
    with atomic_path(path) as temporary:
        if path.suffix == ".safetensors":
            _save_safetensors(arrays, temporary, digest)
        else:
            with h5py.File(temporary, "w") as file:
                for name, array in arrays.items():
                    file.create_dataset(name, data=array)
    return digest


def has_arrays(path: Path, arrays: Mapping[str, Array]) -> bool:
    """Whether a file is there that holds these very arrays."""
    try:
        found = read_arrays(path, {name: array.shape for name, array in arrays.items()})
    except (DataError, DataMissingError, DamagedFileError):
        return False
    return hash_arrays(found) == hash_arrays(arrays)


def _save_safetensors(arrays: Mapping[str, Array], path: Path, digest: str) -> None:
    """Save in a directory of its own, where safetensors makes a temporary file of another name first."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with scratch_directory(path.parent, path.name) as scratch:
        try:
            save_file(contiguous, scratch / path.name, metadata={"sha256": digest})
        except SafetensorError as error:  # such as a full disk
            raise OSError(str(error)) from error
        (scratch / path.name).replace(path)


def hash_arrays(arrays: Mapping[str, Array]) -> str:
    """sha256 over names, dtypes, shapes and values, independent of the file format."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        digest.update(array.data)
    return digest.hexdigest()


def check_names(path: Path, found: set[str], shapes: Shapes) -> None:
    """Refuse a file whose arrays are not exactly those that the options require."""
    strange = sorted(found - set(shapes))
    if strange:
        raise DataError(
            f"{path}: expected only the arrays that options.json calls for, got {_first_of(strange)}; "
            "are options and weights of the same model?"
        )
    missing = sorted(set(shapes) - found)
    if missing:
        raise DataError(
            f"{path}: expected {_first_of(missing)}, as options.json says, got none; "
            "are options and weights of the same model?"
        )


def _first_of(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def check_shape(path: Path, name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Refuse an array whose shape differs from the options."""
    if shape == expected:
        return
    hint = "are options and weights of the same model?"
    if name == "char_embed" and shape == (expected[0] + 1, *expected[1:]):
        hint = "the row for missing tokens is not part of a weight file: it is added when loading"
    raise DataError(f"{path}: expected {name} to have shape {expected}, got {shape}; {hint}")


def _read_safetensors(path: Path, shapes: Shapes) -> dict[str, Array]:
    try:
        with safe_open(path, framework="numpy") as file:
            check_names(path, set(file.keys()), shapes)
            for name, expected in shapes.items():
                header = file.get_slice(name)
                check_shape(path, name, tuple(header.get_shape()), expected)
                dtype = header.get_dtype()
                if dtype not in SAFETENSORS_DTYPES:
                    raise DataError(
                        f"{path}: expected {name} as {' or '.join(SAFETENSORS_DTYPES)}, got {dtype}"
                    )
            arrays: dict[str, Array] = {name: file.get_tensor(name) for name in shapes}
            recorded = (file.metadata() or {}).get("sha256")
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path}: expected a safetensors file, got {error}") from error
    if recorded is not None and recorded != hash_arrays(arrays):
        raise DamagedFileError(
            f"{path}: the values do not match their stored sha256; download or train it again"
        )
    return arrays


def _read_hdf5(path: Path, shapes: Shapes) -> dict[str, Array]:
    try:
        with h5py.File(path, "r") as file:
            datasets = _plain_datasets(path, file, shapes)
            check_names(path, set(datasets), shapes)
            for name, dataset in datasets.items():
                _check_dataset(path, name, dataset, shapes[name])
            return {name: datasets[name][()] for name in shapes}
    except (OSError, RuntimeError, LookupError, TypeError, ValueError) as error:  # by the place of the damage
        raise DataError(f"{path}: expected a readable HDF5 file, got {error}") from error


def _plain_datasets(path: Path, root: Any, shapes: Shapes) -> dict[str, Any]:
    """The datasets behind hard links with expected names; other links may point outside the file."""
    folders = {name.rsplit("/", depth)[0] for name in shapes for depth in range(1, name.count("/") + 1)}
    datasets: dict[str, Any] = {}
    waiting = [("", root)]
    while waiting:
        prefix, group = waiting.pop()
        for key in group:
            name = f"{prefix}{key}"
            link = group.get(key, getlink=True)
            if type(link) is not h5py.HardLink:
                raise DataError(
                    f"{path}: expected plain data at {name}, got a {type(link).__name__}; refused"
                )
            kind = group.get(key, getclass=True)
            if kind is h5py.Group and name in folders:
                waiting.append((f"{name}/", group[key]))
            elif kind is h5py.Dataset:
                datasets[name] = group[key]
            else:
                raise DataError(
                    f"{path}: expected only the arrays that options.json calls for, got {kind!r} at {name}; "
                    "are options and weights of the same model?"
                )
    return datasets


def _check_dataset(path: Path, name: str, dataset: Any, expected: tuple[int, ...]) -> None:
    plan = dataset.id.get_create_plist()
    if plan.get_layout() == h5py.h5d.VIRTUAL or plan.get_external_count() > 0:
        raise DataError(
            f"{path}: expected the values of {name} inside the file, got a reference to other files; refused"
        )
    filters = {plan.get_filter(index)[0] for index in range(plan.get_nfilters())}
    known = {
        h5py.h5z.FILTER_DEFLATE,
        h5py.h5z.FILTER_SHUFFLE,
        h5py.h5z.FILTER_FLETCHER32,
        h5py.h5z.FILTER_LZF,
    }
    if not filters <= known:
        raise DataError(
            f"{path}: expected {name} plain or gzip-compressed, got HDF5 filter {min(filters - known)}"
        )
    check_shape(path, name, dataset.shape, expected)
    if dataset.dtype != np.dtype("<f4"):
        raise DataError(f"{path}: expected {name} as float32, got {dataset.dtype}")
