"""Examples of a split, kept as they were read, so that the next run need not parse its files again.

The examples of a corpus share their sentences, so they are kept in Python's own format (pickle), which keeps
what is shared. That format can name any function. Such a file is therefore read by `_Reader`, which knows the
classes of the task and of `elmo_bench.data` and no function, and it counts only if it begins with its hash.
"""

from __future__ import annotations

import io
import pickle
import sys
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

EXAMPLES = "examples"  # below paths.cache: one file for each task, its settings and a split
PACKAGE = "elmo_bench"


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
    module = type(task).__module__
    if module.partition(".")[0] != PACKAGE:
        return read()
    name = hash_value([repr(task), files.split, [str(path.absolute()) for path in files.paths]])
    sha256 = hash_files(files.paths)
    key = hash_value([sha256, files.format, repr(files.options), digest_code(module)]).encode()
    path = root / EXAMPLES / name[:24]
    kept = read_kept(path)
    if kept is not None and kept.startswith(key):
        try:
            return load_examples(kept[len(key) :], module)
        except Exception:  # whatever a file of somebody else's making leads to
            pass
    reading = read()
    if hash_files(files.paths) == sha256:  # else somebody wrote to a file while it was read
        with suppress(OSError):  # a cache that cannot be written costs a second of the next run, not this one
            path.parent.mkdir(parents=True, exist_ok=True)
            write_kept(path, key + pickle.dumps((reading.examples, reading.left_out), protocol=5))
    return reading


@cache
def digest_code(module: str) -> str:
    """A hash of the code that reads the files of a task in this module, and of the Python that runs it."""
    folders = [Path(str(part.__file__)).parent for part in (sys.modules[module], data, metrics)]
    sources = [Path(types.__file__), *(path for folder in folders for path in sorted(folder.glob("*.py")))]
    return hash_value([list(sys.version_info[:3]), [hash_file(path) for path in sources]])


class _Reader(pickle.Unpickler):
    def __init__(self, content: bytes, module: str) -> None:
        super().__init__(io.BytesIO(content))
        self._module = module

    def find_class(self, module: str, name: str) -> Any:
        if module in (self._module, types.__name__) or module.startswith(f"{data.__name__}."):
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an example")


def load_examples(content: bytes, module: str) -> SplitReading:
    with pause_collection():
        examples, left_out = _Reader(content, module).load()
    return SplitReading(examples, left_out)
