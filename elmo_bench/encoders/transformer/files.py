"""The files of a transformer, found and checked before anything is loaded from them.

A directory of a stranger is data here. Weights are safetensors, never a pickle; the configuration names no
code; and nothing outside the directory is opened.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench.hashing import hash_file_once
from elmo_bench.types import DataError, DataMissingError, UsageError

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
TOKENIZER_SETTINGS = "tokenizer_config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"  # of weights in several files
ADAPTER = "adapter_config.json"
SHARDS = "model-*.safetensors"
READ = (CONFIG, TOKENIZER, TOKENIZER_SETTINGS, WEIGHTS, INDEX, SHARDS, ADAPTER)
"""Patterns of everything that is fetched from the Hub."""

NEVER_READ = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack", "*.gguf", "*.onnx")
"""Weights in other formats; most of them can run code when they are opened."""

UNHEEDED = (
    "attn_implementation",  # may name a kernel of the Hub
    "_attn_implementation",
    "experts_implementation",
    "_experts_implementation",
    "fusion_config",
    "transformers_weights",  # may name another file
    "return_dict",
    "use_return_dict",
    "chunk_size_feed_forward",  # rows that a layer reads at once
)
"""Keys of a configuration that choose code, files or how a result is handed over, and no numbers."""

CONVERT = (
    "python -c \"from transformers import {kind} as K; K.from_pretrained('{source}').save_pretrained('DIR')\""
)


@dataclass(frozen=True)
class ModelFiles:
    """A model directory with everything that is needed."""

    directory: Path
    config: dict[str, Any]
    tokenizer_settings: dict[str, Any]
    weights: tuple[Path, ...]

    @property
    def tokenizer(self) -> Path:
        """The path of the tokeniser's file."""
        return self.directory / TOKENIZER

    def digests(self) -> list[Any]:
        """The sha256 of every file that decides a vector."""
        settings = self.directory / TOKENIZER_SETTINGS
        return [
            hash_file_once(self.directory / CONFIG),
            hash_file_once(self.tokenizer),
            hash_file_once(settings) if settings.is_file() else None,
            [hash_file_once(path) for path in self.weights],
        ]


def read_files(directory: Path, source: str) -> ModelFiles:
    """The files of a model directory, which users call `source`; an error says what is missing or wrong."""
    for name in (CONFIG, TOKENIZER):
        if not (directory / name).is_file():
            raise DataMissingError(_explain_missing(directory, name, source))
    config = _read_object(directory / CONFIG)
    settings = directory / TOKENIZER_SETTINGS
    tokenizer_settings = _read_object(settings) if settings.is_file() else {}
    for path, values in ((directory / CONFIG, config), (settings, tokenizer_settings)):
        if values.get("auto_map"):
            raise UsageError(
                f"{path}: auto_map asks for Python code of the model's own, which is never executed; "
                "expected a model whose architecture is part of transformers"
            )
    _check_config(directory / CONFIG, config)
    if (directory / ADAPTER).is_file():
        raise UsageError(
            f"{directory / ADAPTER}: adapters are not applied; merge it into the model "
            "(PEFT: merge_and_unload) and save that"
        )
    known = {key: value for key, value in config.items() if key not in UNHEEDED}
    return ModelFiles(directory, known, tokenizer_settings, _find_weights(directory, source))


def _check_config(path: Path, config: dict[str, Any]) -> None:
    if not isinstance(config.get("model_type"), str):
        raise DataError(f'{path}: expected a key "model_type" that names an architecture, such as "bert"')
    if config.get("quantization_config"):
        raise UsageError(
            f"{path}: the weights are quantised, and their layers need code outside transformers; expected "
            "weights in float32, bfloat16 or float16"
        )


def _find_weights(directory: Path, source: str) -> tuple[Path, ...]:
    if (directory / WEIGHTS).is_file():
        return (directory / WEIGHTS,)
    index = directory / INDEX
    if not index.is_file():
        raise DataMissingError(_explain_missing(directory, WEIGHTS, source))
    shards = _read_object(index).get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise DataError(f'{index}: expected an object "weight_map" of names and files')
    paths = []
    for name in sorted({str(name) for name in shards.values()}):
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise UsageError(f"{index}: expected .safetensors files in the same directory, got {name!r}")
        if not (directory / name).is_file():
            raise DataMissingError(f"{directory / name}: no such file, although {INDEX} names it")
        paths.append(directory / name)
    return tuple(paths)


def _explain_missing(directory: Path, name: str, source: str) -> str:
    missing = f"{directory / name}: no such file (encoder.model={source}); expected a directory with "
    missing += f"{CONFIG}, {TOKENIZER} and {WEIGHTS} (or {INDEX} and its files)"
    if name == TOKENIZER:
        return (
            f"{missing}. To make a fast tokeniser of other files{_spell_kind(directory)}: "
            + CONVERT.format(kind="AutoTokenizer", source=source)
        )
    unread = sorted(path.name for pattern in NEVER_READ for path in directory.glob(pattern))
    if name == WEIGHTS and unread:
        return (
            f"{missing}. {unread[0]} is never read: opening it can run code. If you trust it, convert it: "
            + CONVERT.format(kind="AutoModel", source=source)
        )
    return missing


def _spell_kind(directory: Path) -> str:
    """The architecture of a directory: it may be a model of another program."""
    name = _read_object(directory / CONFIG).get("model_type")
    return f", if transformers knows {name!r}" if name else ""


def _read_object(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError: neither JSON nor UTF-8
        raise DataError(f"{path}: expected JSON, got {str(error)[:80]}") from None
    if not isinstance(values, dict):
        raise DataError(f"{path}: expected a JSON object, got {type(values).__name__}")
    return values
