"""The record of a biLM that was trained here, and what it says of the model's files.

Training writes `record.json` last. It has the hashes of the weights, the softmax and the vocabulary, and the
architecture that options.json must state. A model from elsewhere has no such record and is taken as it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from elmo_bench.bilm.array_files import Array, hash_arrays
from elmo_bench.bilm.layout import OPTIONS_FILE, WEIGHTS_FILE
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.records import read_content
from elmo_bench.types import DamagedFileError

RECORD_FILE = "record.json"
SOFTMAX_FILE = "softmax.safetensors"
VOCABULARY_FILE = "vocabulary.txt"
HASHED = {"weights": WEIGHTS_FILE, "softmax": SOFTMAX_FILE, "vocabulary": VOCABULARY_FILE}
FILES = (OPTIONS_FILE, *HASHED.values())


def read_training(directory: Path) -> dict[str, Any] | None:
    """The record of the model in a directory; None if the model was not trained here."""
    path = directory / RECORD_FILE
    if not os.path.lexists(path):
        return None
    content = read_content(path, "record of a biLM", remedy(directory))
    return content if content.get("kind") == "bilm" else None


def find_contradiction(
    record: Mapping[str, Any], options: BilmOptions, hashes: Mapping[str, str]
) -> str | None:
    """The first file of a model that is not what its record says, and why."""
    try:
        recorded = BilmOptions.model_validate(record["config"]["architecture"])
        expected = {name: record["hashes"][name] for name in hashes}
    except (ValidationError, KeyError, TypeError):
        return f"{RECORD_FILE} has no architecture or no hashes"
    if options != recorded:
        return f"{OPTIONS_FILE} does not state the architecture of {RECORD_FILE}"
    wrong = next((name for name in hashes if hashes[name] != expected[name]), None)
    return f"{HASHED[wrong]} differs from its hash in {RECORD_FILE}" if wrong else None


def check_against_record(weights: Path, options: BilmOptions, arrays: Mapping[str, Array]) -> None:
    """Refuse a model that was trained here if its architecture or its weights are not those of its record."""
    if weights.name != WEIGHTS_FILE:
        return  # another file next to a record
    if record := read_training(weights.parent):
        fault = find_contradiction(record, options, {"weights": hash_arrays(arrays)})
        if fault:
            raise refuse(weights.parent, fault)


def refuse(directory: Path, fault: str) -> DamagedFileError:
    """The error for a model that took hours and is therefore never touched."""
    return DamagedFileError(f"{directory}: {fault}; {remedy(directory)}")


def remedy(directory: Path) -> str:
    """What a user can do about a damaged model."""
    return f"restore the file, or move {directory} away to train the model again"
