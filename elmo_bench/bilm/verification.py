"""Whether a directory has a biLM that was trained here to its end, with its files as training wrote them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from elmo_bench.bilm.array_files import hash_arrays, read_arrays
from elmo_bench.bilm.layout import OPTIONS_FILE, WEIGHTS_FILE, expected_shapes, read_options
from elmo_bench.bilm.trained import (
    FILES,
    RECORD_FILE,
    SOFTMAX_FILE,
    VOCABULARY_FILE,
    find_contradiction,
    read_training,
    refuse,
)
from elmo_bench.data.text import TargetVocabulary
from elmo_bench.hashing import FileState, file_state
from elmo_bench.types import BenchError, DamagedFileError


def read_finished(directory: Path) -> dict[str, Any] | None:
    """The record of a model that is trained to its end; None if it is not. A damaged model is an error."""
    record = read_training(directory)
    if record is None or not record.get("finished"):
        return None
    for name in FILES:
        if not (directory / name).is_file():
            raise refuse(directory, f"{name} is not there or not a file")
    states = tuple(file_state(directory / name) for name in (*FILES, RECORD_FILE))
    if fault := _find_fault(directory.absolute(), states):
        raise refuse(directory, fault)
    return record


def is_intact(directory: Path) -> bool:
    """Whether the model is trained to its end and undamaged."""
    try:
        return read_finished(directory) is not None
    except DamagedFileError:
        return False


@lru_cache(maxsize=32)
def _find_fault(directory: Path, _: tuple[FileState, ...]) -> str | None:
    """The damage of a model's files; a process reads them once as long as they do not change."""
    record = read_training(directory) or {}
    try:
        options = read_options(directory / OPTIONS_FILE)
        vocabulary = TargetVocabulary.read(directory / VOCABULARY_FILE)
        # Before the softmax, whose shape would not fit a vocabulary that is damaged.
        if fault := find_contradiction(record, options, {"vocabulary": vocabulary.sha256}):
            return fault
        words, dim = len(vocabulary), options.projection_dim
        softmax = read_arrays(directory / SOFTMAX_FILE, {"weight": (words, dim), "bias": (words,)})
        weights = read_arrays(directory / WEIGHTS_FILE, expected_shapes(options))
    except BenchError as error:
        return str(error)
    hashes = {
        "weights": hash_arrays(weights),
        "softmax": hash_arrays(softmax),
    }
    return find_contradiction(record, options, hashes)
