"""Examples are parsed once: kept with what they share, read again after any change, and never executed."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from elmo_bench import sources
from elmo_bench.files import read_kept, write_kept
from elmo_bench.plugins import load_task
from elmo_bench.runs import kept_examples
from elmo_bench.runs.kept_examples import EXAMPLES, SplitReading, read_split_once
from elmo_bench.testing import check_task
from elmo_bench.types import SplitFiles
from tests.support.composition import TASKS, make_task, run_config

TEXT = "Ann B-PER\nran O\n\nHe O\nran O\n\n"
NER = make_task("ner")


class Door:
    """Reads a file of entities through the cache, and counts how often it is parsed."""

    def __init__(self, root: Path) -> None:
        self.files = SplitFiles("train", "columns", (root / "train.txt",))
        self.files.paths[0].write_text(TEXT)
        self.cache = root / "cache"
        self.parsed = 0

    def read(self, task: Any = NER) -> SplitReading:
        def parse() -> SplitReading:
            self.parsed += 1
            return SplitReading(list(task.read(self.files)), {"blank lines": 2})

        return read_split_once(task, self.files, self.cache, parse)

    @property
    def kept(self) -> Path:
        (path,) = (self.cache / EXAMPLES).iterdir()
        return path


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def test_a_file_is_parsed_once(door: Door) -> None:
    first, second = door.read(), door.read()
    assert first == second
    assert first.examples is not second.examples
    assert door.parsed == 1


@pytest.mark.parametrize("task", TASKS)
def test_kept_examples_of_every_task_are_those_of_its_files(task: str, world: Path, tmp_path: Path) -> None:
    config = run_config(f"task={task}", root=world)
    files = sources.prepare(config.task, config.data, config.paths, print).files["dev"]
    plugin = load_task(config.task)

    def parse() -> SplitReading:
        return SplitReading(list(plugin.read(files)), {})

    def refuse() -> SplitReading:
        raise AssertionError("parsed again")

    parsed = read_split_once(plugin, files, tmp_path, parse).examples
    kept = read_split_once(plugin, files, tmp_path, refuse).examples
    assert [(row.id, plugin.sentences(row), plugin.gold(row)) for row in kept] == [
        (row.id, plugin.sentences(row), plugin.gold(row)) for row in parsed
    ]
    check_task(plugin, kept[:16])


def test_what_examples_share_is_kept_once(world: Path, tmp_path: Path) -> None:
    config = run_config("task=squad", root=world)
    files = sources.prepare(config.task, config.data, config.paths, print).files["dev"]
    plugin = load_task(config.task)
    shared = []
    for _ in range(2):
        reading = read_split_once(plugin, files, tmp_path, lambda: SplitReading(list(plugin.read(files)), {}))
        shared.append(len({id(row.paragraph) for row in reading.examples}))
    assert shared[0] == shared[1] < len(reading.examples)


def test_other_content_and_other_settings_are_read_anew(door: Door) -> None:
    door.read()
    door.files.paths[0].write_text(TEXT + TEXT)
    assert len(door.read().examples) == 4
    (path,) = (door.cache / EXAMPLES).iterdir()  # replaced, not added
    door.read(make_task("ner", head={"dropout": 0.25}))
    assert door.parsed == 3
    assert path in (door.cache / EXAMPLES).iterdir()


def test_a_file_that_changes_while_it_is_read_is_not_kept(door: Door) -> None:
    def parse() -> SplitReading:
        reading = SplitReading(list(NER.read(door.files)), {})
        door.files.paths[0].write_text(TEXT + TEXT)
        return reading

    read_split_once(NER, door.files, door.cache, parse)
    door.files.paths[0].write_text(TEXT)
    door.read()
    assert door.parsed == 1


def test_other_code_reads_anew(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    door.read()
    monkeypatch.setattr(kept_examples, "digest_code", lambda module: "other code")
    door.read()
    assert door.parsed == 2


def test_the_code_of_a_task_is_that_of_its_readers_too() -> None:
    code = kept_examples.digest_code("elmo_bench.tasks.ner")
    assert code != kept_examples.digest_code("elmo_bench.tasks.squad.task")
    assert code == kept_examples.digest_code("elmo_bench.tasks.srl")  # one directory


def test_a_cache_that_cannot_be_written_costs_nothing(door: Door) -> None:
    door.cache.write_text("a file in the way")
    assert door.read() == door.read()
    assert door.parsed == 2


@pytest.mark.parametrize("position", [0, 40, 100, -1])
def test_a_changed_bit_is_noticed(door: Door, position: int) -> None:
    whole = door.read()
    damaged = bytearray(door.kept.read_bytes())
    damaged[position] ^= 1
    door.kept.write_bytes(damaged)
    assert door.read() == door.read() == whole
    assert door.parsed == 2


class Hostile:
    """Names a function that runs when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


@pytest.mark.parametrize("door_into", ["a function", "a class of the task's imports", "an attribute"])
def test_a_file_with_the_right_hash_can_run_nothing(door_into: str, door: Door, tmp_path: Path) -> None:
    whole, sentinel = door.read(), tmp_path / "sentinel"
    content = read_kept(door.kept)
    assert content is not None
    hostile = {
        "a function": pickle.dumps(Hostile(os.system, f"touch {sentinel}")),
        "a class of the task's imports": b"celmo_bench.tasks.ner\nVocabularies\n(tR.",
        "an attribute": b"\x80\x04\x8c\x14elmo_bench.tasks.ner\x8c\x15NerTask.read.__code__\x93.",
    }[door_into]
    write_kept(door.kept, content[:64] + hostile)
    assert door.read() == whole
    assert door.parsed == 2
    assert not sentinel.exists()
    with pytest.raises(pickle.UnpicklingError, match="is no part of an example"):
        kept_examples.load_examples(hostile, "elmo_bench.tasks.ner")


def test_a_task_from_outside_is_read_every_time(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(NER), "__module__", "somebodys_task")
    door.read()
    door.read()
    assert door.parsed == 2
    assert not (door.cache / EXAMPLES).exists()
