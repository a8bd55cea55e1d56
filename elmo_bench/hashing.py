"""Canonical hashes of values and files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any


def hash_value(value: Any) -> str:
    """sha256 of a JSON value, independent of the order of keys; 1 and 1.0 are the same number."""
    text = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


SEAL = "sha256"  # the key of a sealed object


def seal_text(text: str) -> str:
    """The text of a JSON object with the hash of its content as the last value."""
    digest = hash_value(json.loads(text))
    return f'{text.rstrip().removesuffix("}").rstrip()},\n "{SEAL}": "{digest}"\n}}\n'


def read_sealed(text: bytes) -> dict[str, Any]:
    """The content of a JSON object, seal included; a ValueError says what is wrong with it.

    An object without a seal is accepted: it was written before there were seals.
    """
    try:
        content = json.loads(text.decode())
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
        if content.get(SEAL) not in (None, hash_value({k: v for k, v in content.items() if k != SEAL})):
            raise ValueError(f"its content does not match its {SEAL}")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return content


def hash_file(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_files(paths: Iterable[Path]) -> str:
    """sha256 over the contents of several files in order; their names and directories do not matter."""
    return hash_value([hash_file_once(path) for path in paths])


def hash_file_once(path: Path) -> str:
    """sha256 of a file, kept until the file changes or this process ends: every process reads it once."""
    return _hash_state(path.absolute(), file_state(path))


FileState = tuple[int, int, int, int]


def file_state(path: Path) -> FileState:
    """What changes with every write to a file.

    A program can set the time of modification, but not the time of change. So a write is noticed even if it
    keeps the size and the time of modification.
    """
    state = path.stat()
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino


@lru_cache(maxsize=4096)
def _hash_state(path: Path, _: FileState) -> str:
    return hash_file(path)


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Path):
        raise TypeError(f"a path is not part of an identity: {value}")
    return value
