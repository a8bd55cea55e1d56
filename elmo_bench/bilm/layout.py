"""The published layout of a biLM: the names of its files, options.json, and the arrays of the weight file.

Nothing here needs PyTorch, so that a finished run is recognised without importing it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench.bilm.array_files import Shapes
from elmo_bench.bilm.settings import CHARACTERS, CHARACTERS_WITH_MISSING, BilmOptions
from elmo_bench.files import write_atomically
from elmo_bench.types import DataError, DataMissingError, UsageError

OPTIONS_FILE = "options.json"
WEIGHTS_FILE = "weights.safetensors"
USUAL_NAMES = (WEIGHTS_FILE, "weights.hdf5", "lm_weights.hdf5", "model.safetensors")
USUAL_PATTERNS = ("*weights.safetensors", "*weights.hdf5", "*weights.h5")


def find_model(path: Path) -> tuple[Path, Path]:
    """The options and weights of a model, given its directory or its weight file."""
    if not path.exists():
        raise DataMissingError(f"{path}: no such model; expected a directory with {OPTIONS_FILE} and weights")
    directory = path if path.is_dir() else path.parent
    weights = _find_weights(path) if path.is_dir() else path
    return _find_options(directory, weights), weights


def _find_weights(directory: Path) -> Path:
    for name in USUAL_NAMES:
        if (directory / name).is_file():
            return directory / name
    found = sorted(path for pattern in USUAL_PATTERNS for path in directory.glob(pattern))
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(path.name for path in found)
        raise UsageError(f"{directory}: expected one weight file, got {names}; name the file instead")
    raise DataMissingError(
        f"{directory}: expected a weight file such as {', '.join(USUAL_NAMES[:2])}, got none"
    )


def _find_options(directory: Path, weights: Path) -> Path:
    """options.json, or the published pair of names: <stem>_options.json next to <stem>_weights.hdf5."""
    for path in (pair_options(directory / weights.name), directory / OPTIONS_FILE):
        if path.is_file():
            return path
    raise DataMissingError(f"{directory}: expected {OPTIONS_FILE} next to {weights.name}, got none")


def pair_options(weights: Path) -> Path:
    """elmo_options.json for elmo_weights.hdf5; otherwise options.json."""
    stem = weights.stem
    return weights.with_name(
        f"{stem.removesuffix('weights')}{OPTIONS_FILE}" if stem.endswith("weights") else OPTIONS_FILE
    )


def expected_shapes(options: BilmOptions) -> Shapes:
    """The name and shape of every array in a weight file of these options."""
    features, dim, cells = options.filter_count, options.projection_dim, options.cell_dim
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (CHARACTERS, options.character_dim)}
    for index, (width, count) in enumerate(options.filters):
        shapes[f"CNN/W_cnn_{index}"] = (1, width, options.character_dim, count)
        shapes[f"CNN/b_cnn_{index}"] = (count,)
    for index in range(options.highways):
        for part in ("carry", "transform"):
            shapes[f"CNN_high_{index}/W_{part}"] = (features, features)
            shapes[f"CNN_high_{index}/b_{part}"] = (features,)
    if options.has_token_projection:
        shapes["CNN_proj/W_proj"] = (features, dim)
        shapes["CNN_proj/b_proj"] = (dim,)
    for prefix in lstm_prefixes(options):
        shapes[f"{prefix}/W_0"] = (2 * dim, 4 * cells)
        shapes[f"{prefix}/B"] = (4 * cells,)
        if options.has_state_projection:
            shapes[f"{prefix}/W_P_0"] = (cells, dim)
    return shapes


def lstm_prefixes(options: BilmOptions) -> list[str]:
    """The beginnings of the names of each LSTM layer's arrays, the forward direction first."""
    return [
        f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        for direction in (0, 1)
        for layer in range(options.layers)
    ]


def options_to_json(options: BilmOptions) -> dict[str, Any]:
    """The published layout, with the 262 characters of inference."""
    return {
        "char_cnn": {
            "activation": "relu",
            "embedding": {"dim": options.character_dim},
            "filters": [list(pair) for pair in options.filters],
            "max_characters_per_token": options.maximum_characters,
            "n_characters": CHARACTERS_WITH_MISSING,
            "n_highway": options.highways,
        },
        "lstm": {
            "cell_clip": options.cell_clip,
            "dim": options.cell_dim,
            "n_layers": options.layers,
            "proj_clip": options.projection_clip,
            "projection_dim": options.projection_dim,
            "use_skip_connections": options.use_skip_connections,
        },
    }


def write_options(options: BilmOptions, path: Path) -> None:
    """Write options.json."""
    write_atomically(path, _spell_options(options))


def has_options(path: Path, options: BilmOptions) -> bool:
    """Whether a file is there that holds what would be written."""
    return path.is_file() and path.read_bytes() == _spell_options(options)


def _spell_options(options: BilmOptions) -> bytes:
    return (json.dumps(options_to_json(options), indent=2, sort_keys=True) + "\n").encode()


def read_options(path: Path) -> BilmOptions:
    """Read and check options.json."""
    if not path.is_file():
        raise DataMissingError(f"{path}: no such options file; expected options.json next to the weights")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}:{getattr(error, 'lineno', 1)}: expected JSON, got {error}") from error
    return _options_from_json(found, path)


def _options_from_json(found: Any, path: Path) -> BilmOptions:
    reader = _Reader(path)
    characters = reader.group(found, "char_cnn")
    lstm = reader.group(found, "lstm")
    _check_characters(characters, reader)
    options = BilmOptions(
        character_dim=reader.count(reader.group(characters, "embedding"), "dim"),
        filters=reader.filters(characters.get("filters")),
        highways=reader.count(characters, "n_highway", least=0, default=0),
        layers=reader.count(lstm, "n_layers", default=1),
        cell_dim=reader.count(lstm, "dim"),
        projection_dim=reader.count(lstm, "projection_dim"),
        maximum_characters=reader.count(characters, "max_characters_per_token", least=3),
        cell_clip=reader.clip(lstm, "cell_clip"),
        projection_clip=reader.clip(lstm, "proj_clip"),
        use_skip_connections=reader.flag(lstm, "use_skip_connections"),
    )
    if options.projection_dim > options.cell_dim:
        raise reader.refuse(
            "lstm.projection_dim", f"at most lstm.dim = {options.cell_dim}", options.projection_dim
        )
    widest = max(width for width, _ in options.filters)
    if widest > options.maximum_characters:
        raise reader.refuse("char_cnn.filters", f"widths up to {options.maximum_characters}", widest)
    return options


def _check_characters(characters: dict[str, Any], reader: _Reader) -> None:
    rows = characters.get("n_characters")
    if rows == CHARACTERS:
        raise reader.refuse(
            "char_cnn.n_characters",
            "262",
            "261, the figure of training; inference has one more row, for missing tokens: set it to 262",
        )
    if rows != CHARACTERS_WITH_MISSING:
        raise reader.refuse("char_cnn.n_characters", "262", rows)
    if characters.get("activation", "relu") != "relu":
        raise reader.refuse("char_cnn.activation", "relu", characters["activation"])


@dataclass(frozen=True)
class _Reader:
    """Typed access to parsed JSON, with errors that name the file and the key."""

    path: Path

    def refuse(self, key: str, expected: str, got: object) -> DataError:
        return DataError(f"{self.path}:1: expected {key} to be {expected}, got {got}")

    def group(self, found: Any, key: str) -> dict[str, Any]:
        value = found.get(key) if isinstance(found, dict) else None
        if not isinstance(value, dict):
            raise self.refuse(key, "a group of settings", "nothing" if value is None else value)
        return value

    def count(self, group: dict[str, Any], key: str, least: int = 1, default: int | None = None) -> int:
        value = group.get(key, default)
        if value is None and default is not None:
            value = default
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= 1 << 20:
            raise self.refuse(key, f"a whole number from {least}", value)
        return value

    def clip(self, group: dict[str, Any], key: str) -> float | None:
        value = group.get(key)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            raise self.refuse(key, "a positive number or null", value)
        return float(value)

    def flag(self, group: dict[str, Any], key: str) -> bool:
        value = group.get(key)
        if not isinstance(value, bool):
            raise self.refuse(key, "true or false", value)
        return value

    def filters(self, value: Any) -> tuple[tuple[int, int], ...]:
        pairs: list[Any] = value if isinstance(value, list) and value else [None]
        for pair in pairs:
            is_pair = isinstance(pair, list) and len(pair) == 2
            if not is_pair or not all(type(number) is int and 0 < number <= 1 << 16 for number in pair):
                raise self.refuse("char_cnn.filters", "a list of [width, count]", value)
        return tuple((width, count) for width, count in pairs)
