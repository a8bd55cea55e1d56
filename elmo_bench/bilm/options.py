"""The sizes of a biLM, read from and written to the published options.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench.types import DataError, DataMissingError

CHARACTERS = 261  # learned rows: 256 bytes, two sentence marks, two word marks, padding
CHARACTERS_WITH_MISSING = 262  # and the zero row in front, which stands for a missing token


@dataclass(frozen=True)
class BilmOptions:
    """What decides the shape of every array of a biLM (the paper's section 3.4)."""

    character_dim: int
    filters: tuple[tuple[int, int], ...]  # (width, count) each
    highways: int
    layers: int
    cell_dim: int  # the paper's LSTM units
    projection_dim: int
    maximum_characters: int = 50
    cell_clip: float | None = 3.0
    projection_clip: float | None = 3.0
    use_skip_connections: bool = True

    @property
    def filter_count(self) -> int:
        """How many features the convolutions give together."""
        return sum(count for _, count in self.filters)

    @property
    def has_token_projection(self) -> bool:
        """The published code leaves the projection out where it would not change the width."""
        return self.filter_count != self.projection_dim

    @property
    def has_state_projection(self) -> bool:
        """Likewise for the projection of an LSTM's output."""
        return self.cell_dim != self.projection_dim

    def to_json(self) -> dict[str, Any]:
        """The published layout, with the 262 characters of inference."""
        return {
            "char_cnn": {
                "activation": "relu",
                "embedding": {"dim": self.character_dim},
                "filters": [list(pair) for pair in self.filters],
                "max_characters_per_token": self.maximum_characters,
                "n_characters": CHARACTERS_WITH_MISSING,
                "n_highway": self.highways,
            },
            "lstm": {
                "cell_clip": self.cell_clip,
                "dim": self.cell_dim,
                "n_layers": self.layers,
                "proj_clip": self.projection_clip,
                "projection_dim": self.projection_dim,
                "use_skip_connections": self.use_skip_connections,
            },
        }

    def write(self, path: Path) -> None:
        """Write the published layout."""
        path.write_text(json.dumps(self.to_json(), indent=2, sort_keys=True) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> BilmOptions:
        """Read and check the published layout."""
        if not path.is_file():
            raise DataMissingError(
                f"{path}: no such options file; expected the options.json beside the weights"
            )
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise DataError(f"{path}:{getattr(error, 'lineno', 1)}: expected JSON, got {error}") from error
        return _from_json(found, path)


def _from_json(found: Any, path: Path) -> BilmOptions:
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
