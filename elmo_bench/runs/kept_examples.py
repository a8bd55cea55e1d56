"""Examples of a split, kept as they were read, so that the next run need not parse its files again.

The format is pickle, because examples share their sentences and it keeps what is shared. A pickle can name
any class and function, and a name is enough to do harm. These name none: `_Writer` writes an instance as the
name of its class, a number and plain values, and `_Reader` makes it without calling anything of its class.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import pickle
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from elmo_bench import data, metrics, types
from elmo_bench.files import read_kept, write_kept
from elmo_bench.hashing import hash_file, hash_files, hash_value
from elmo_bench.task import AnyTask, Example
from elmo_bench.training.memory import pause_collection
from elmo_bench.types import SplitFiles

EXAMPLES = "examples"  # below paths.cache: one file for each task, what its reader is told, and a split
HEAD = "head"  # the setting of a task that its reader does not know
HOMES = ("elmo_bench.data.", "elmo_bench.metrics.", "elmo_bench.tasks.")  # of the classes of examples
PLAIN = frozenset({str, int, float, bool, type(None), tuple, list, dict})
STARTED = time.time()


@dataclass(frozen=True)
class SplitReading:
    """The examples of a split, and counts of what its files contain in addition."""

    examples: list[Example]
    left_out: dict[str, int]


def read_split_once(
    task: AnyTask, files: SplitFiles, root: Path, read: Callable[[], SplitReading]
) -> SplitReading:
    """What `read` finds in a split's files; parsed once for the same content, settings and code.

    A task from outside the package is read every time: which code its reader consists of is not known.
    """
    kind = type(task)
    code = digest_code(kind.__module__) if kind.__module__.startswith(HOMES) else None
    if code is None:
        return read()
    settings: Any = task  # a dataclass
    told = [repr(getattr(task, field.name)) for field in dataclasses.fields(settings) if field.name != HEAD]
    paths = [str(path.absolute()) for path in files.paths]
    name = hash_value([kind.__module__, kind.__qualname__, told, files.split, paths])
    sha256 = hash_files(files.paths)
    key = hash_value([sha256, files.format, repr(files.options), code]).encode()
    path = root / EXAMPLES / name[:24]
    kept = read_kept(path)
    if kept is not None and kept.startswith(key):
        with suppress(Exception):  # whatever a file of somebody else's making leads to
            return load_examples(kept[len(key) :])
    reading = read()
    if hash_files(files.paths) == sha256:  # else somebody wrote to a file while it was read
        with suppress(Exception):  # what cannot be kept costs a second of the next run, and not this one
            write_kept(path, key + dump_examples(reading))
    return reading


@cache
def digest_code(module: str) -> str | None:
    """A hash of the code that reads the files of a task in this module, and of the Python that runs it.

    None if a file is younger than this process, which may then run other code than the file has.
    """
    folders = [Path(str(part.__file__)).parent for part in (sys.modules[module], data, metrics)]
    sources = [Path(types.__file__), *(path for folder in folders for path in sorted(folder.glob("*.py")))]
    if any(path.stat().st_mtime > STARTED for path in sources):
        return None
    return hash_value([list(sys.version_info[:3]), [hash_file(path) for path in sources]])


def dump_examples(reading: SplitReading) -> bytes:
    """Examples as bytes that name no class and no function."""
    buffer = io.BytesIO()
    _Writer(buffer, protocol=5).dump((reading.examples, reading.left_out))
    return buffer.getvalue()


def load_examples(content: bytes) -> SplitReading:
    """What `dump_examples` wrote; anything else is an error, and is not executed."""
    with pause_collection():
        examples, left_out = _Reader(io.BytesIO(content)).load()
    return SplitReading(examples, left_out)


class _Writer(pickle.Pickler):
    """Writes an instance as (module, class, number, state), and as its number when it comes again."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._numbers: dict[int, int] = {}  # by identity; what is written stays alive meanwhile

    def persistent_id(self, value: Any) -> Any:
        kind = type(value)
        if kind in PLAIN:
            return None
        if id(value) in self._numbers:
            return self._numbers[id(value)]
        number = self._numbers[id(value)] = len(self._numbers)
        return kind.__module__, kind.__qualname__, number, _state_of(value)


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self._made: dict[int, Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}: kept examples name nothing that could be called")

    def persistent_load(self, key: Any) -> Any:
        if isinstance(key, int):
            return self._made[key]
        module, name, number, state = key
        kind = _find_kind(module, name)
        if isinstance(state, tuple):
            made: Any = tuple.__new__(kind, state)
        else:
            made = object.__new__(kind)
            for field, value in state.items():
                object.__setattr__(made, field, value)
        self._made[number] = made
        return made


def _state_of(value: Any) -> tuple[Any, ...] | dict[str, Any]:
    if isinstance(value, tuple):
        return tuple(value)
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return dict(vars(value))


@cache
def _find_kind(module: str, name: str) -> type:
    if module.startswith(HOMES) or module == types.__name__:
        found = getattr(importlib.import_module(module), name, None)
        if isinstance(found, type) and found.__module__ == module:
            return found
    raise pickle.UnpicklingError(f"{module}.{name} is no part of an example")
