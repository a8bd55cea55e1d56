"""Files may come from strangers: none of them runs anything, whichever door it comes through."""

from __future__ import annotations

import ast
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmo_bench.bilm.files import load_bilm, save_bilm
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.bilm.training.language_model import load_language_model
from elmo_bench.data.text import MARKERS
from elmo_bench.records import read_counts, read_record
from elmo_bench.types import BenchError
from tests.conftest import PROJECT

TINY = BilmOptions(
    character_dim=2, filters=((1, 4),), highways=1, layers=1, cell_dim=4, projection_dim=2
)  # fmt: skip


class Hostile:
    """Runs a command when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.target}",)


def as_counts(folder: Path, hostile: Hostile) -> None:
    arrays: dict[str, Any] = {"columns": np.array(["correct"]), "test": np.array([hostile], dtype=object)}
    np.savez(folder / "counts.npz", allow_pickle=True, **arrays)
    read_counts(folder / "counts.npz")


def as_plain_pickle_of_counts(folder: Path, hostile: Hostile) -> None:
    (folder / "counts.npz").write_bytes(pickle.dumps(hostile))
    read_counts(folder / "counts.npz")


def as_record(folder: Path, hostile: Hostile) -> None:
    (folder / "result.json").write_bytes(pickle.dumps(hostile))
    read_record(folder / "result.json")


def as_weights(folder: Path, hostile: Hostile, name: str = "weights.safetensors") -> None:
    save_bilm(BiLM(TINY, torch.Generator().manual_seed(1)), folder)
    (folder / name).write_bytes(pickle.dumps(hostile))
    load_bilm(folder / "options.json", folder / name)


def as_hdf5(folder: Path, hostile: Hostile) -> None:
    as_weights(folder, hostile, "weights.hdf5")


def as_torch_file(folder: Path, hostile: Hostile) -> None:
    save_bilm(BiLM(TINY, torch.Generator().manual_seed(1)), folder)
    torch.save({"char_embed": hostile}, folder / "weights.safetensors")
    load_bilm(folder / "options.json", folder / "weights.safetensors")


def as_options(folder: Path, hostile: Hostile) -> None:
    save_bilm(BiLM(TINY, torch.Generator().manual_seed(1)), folder)
    (folder / "options.json").write_bytes(pickle.dumps(hostile))
    load_bilm(folder / "options.json", folder / "weights.safetensors")


def as_softmax(folder: Path, hostile: Hostile) -> None:
    save_bilm(BiLM(TINY, torch.Generator().manual_seed(1)), folder)
    (folder / "vocabulary.txt").write_text("".join(f"{marker}\n" for marker in MARKERS))
    objects: dict[str, Any] = {name: np.array([hostile], dtype=object) for name in ("W", "b")}
    np.savez(folder / "softmax.npz", allow_pickle=True, **objects)
    load_language_model(folder)


DOORS: list[Callable[[Path, Hostile], None]] = [
    as_counts,
    as_plain_pickle_of_counts,
    as_record,
    as_weights,
    as_hdf5,
    as_torch_file,
    as_options,
    as_softmax,
]


@pytest.mark.parametrize("door", DOORS)
def test_a_hostile_file_is_refused_and_runs_nothing(door: Any, tmp_path: Path) -> None:
    sentinel = tmp_path / "sentinel"
    with pytest.raises(BenchError):
        door(tmp_path, Hostile(sentinel))
    assert not sentinel.exists()


def test_the_hostile_file_does_what_it_is_suspected_of(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Hostile(tmp_path / "sentinel")))  # noqa: S301
    assert (tmp_path / "sentinel").exists()


LOADERS = {  # functions that can execute what a file contains, and the argument that forbids it
    "np.load": ("allow_pickle", False),
    "torch.load": ("weights_only", True),
    "trainer.fit": ("weights_only", True),
    "runner.predict": ("weights_only", True),
}
NEVER = {"eval", "exec", "pickle.load", "pickle.loads", "yaml.load", "yaml.unsafe_load", "np.loads"}


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Every call in the package: its place, the name of the function, and the call."""
    for path in sorted(PROJECT.glob("elmo_bench/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(PROJECT)}:{node.lineno}", ast.unparse(node.func), node


def test_no_call_in_the_package_can_execute_the_content_of_a_file() -> None:
    """Checkpoints, caches and copies have no door of their own above: they are loaded by these calls."""
    seen = set()
    for place, name, call in calls():
        assert name not in NEVER, place
        if name in LOADERS:
            seen.add(name)
            key, value = LOADERS[name]
            given = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg == key}
            assert given == {key: value}, f"{place}: {name} without {key}={value}"
    assert seen == LOADERS.keys()
