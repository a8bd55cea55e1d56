"""Files may come from strangers: none of them runs anything, whichever door it comes through."""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import sys
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
from elmo_bench.cli.main import main
from elmo_bench.data.text import MARKERS
from elmo_bench.hashing import hash_file
from elmo_bench.records import (
    COUNTS,
    RUN_RECORD,
    WEIGHTS,
    read_counts,
    read_record,
    write_counts,
    write_record,
)
from elmo_bench.runs import tracking
from elmo_bench.runs.tracking import NoTracker
from elmo_bench.types import BenchError
from tests.conftest import PROJECT
from tests.support.composition import run_config
from tests.support.processes import places
from tests.support.report_records import ELMO, make_record, publish, rows

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


COMMANDS = [
    "report", "findings", "summary", "compare", "examples", "choose", "publish", "predict", "ensemble",
    "track",
]  # fmt: skip
NAMED = "strangers_code.Anything"


def make_hostile_run(root: Path, seed: int) -> Path:
    """A run directory and a published record that name a stranger's code wherever a record can."""
    config = run_config("task=ner", f"seed={seed}", root=root).model_dump(mode="json", by_alias=True)
    config["task"].update(plugin=NAMED, score=NAMED)
    config["encoder"].update(plugin=NAMED)
    made = make_record("ner", seed, 20, ELMO, config=config)
    publish(root / "records", made, 20)
    directory = root / "runs" / "ner" / f"{made.condition}-s{seed}"
    directory.mkdir(parents=True)
    write_counts(directory / COUNTS, {"dev": rows(20), "test": rows(20)})
    (directory / WEIGHTS).touch()
    files = {name: hash_file(directory / name) for name in (COUNTS, WEIGHTS)}
    write_record(directory / RUN_RECORD, made.model_copy(update={"hashes": {**made.hashes, **files}}))
    return directory


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_imports_what_a_record_names(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentinel = tmp_path / "sentinel"
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "strangers_code.py").write_text(f"open({str(sentinel)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path / "code")
    monkeypatch.setattr(tracking, "WandbTracker", lambda *_: NoTracker())
    first, second = map(str, [make_hostile_run(tmp_path, seed) for seed in (1, 2)])
    (tmp_path / "own.conll").write_text("Ann B-PER\n\n")
    arguments = {
        "report": ["--output", str(tmp_path / "report"), "--resamples", "100"],
        "compare": [first, second],
        "examples": [first, second],
        "predict": [first, str(tmp_path / "own.conll")],
        "ensemble": [first, second],
        "track": [first],
    }
    folders = [] if command == "compare" else [*places(tmp_path), f"paths.models={tmp_path / 'models'}"]
    code = main([command, *arguments.get(command, []), *folders])
    assert code == 2 if command in ("predict", "ensemble") else code in (0, 1, 3)
    assert not sentinel.exists()
    monkeypatch.delitem(sys.modules, "strangers_code", raising=False)
    importlib.import_module("strangers_code")  # what would have told
    assert sentinel.exists()


LOADERS = {  # functions that can execute what a file contains, and the argument that forbids it
    "np.load": ("allow_pickle", False),
    "torch.load": ("weights_only", True),
    "trainer.fit": ("weights_only", True),
    "runner.predict": ("weights_only", True),
}
NEVER = {
    *("eval", "exec", "yaml.load", "yaml.unsafe_load", "np.loads"),
    *("pickle.load", "pickle.loads", "pickle.Unpickler"),  # a subclass says which classes it builds
}


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Every call in the package and its tasks: its place, the name of the function, and the call."""
    for path in sorted([*PROJECT.glob("elmo_bench/**/*.py"), *PROJECT.glob("tasks/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(PROJECT)}:{node.lineno}", ast.unparse(node.func), node


def test_no_call_in_the_package_can_execute_the_content_of_a_file() -> None:
    """Checkpoints, caches and copies have no door of their own above: they are loaded by these calls."""
    seen = set()
    for place, name, call in calls():
        assert name not in NEVER, place
        assert "trust_remote_code" not in [word.arg for word in call.keywords], place
        if name in LOADERS:
            seen.add(name)
            key, value = LOADERS[name]
            given = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg == key}
            assert given == {key: value}, f"{place}: {name} without {key}={value}"
    assert seen == LOADERS.keys()
