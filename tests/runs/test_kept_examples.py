"""Examples are parsed once: kept with what they share, read again after any change, and never executed."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
from pathlib import Path
from typing import Any

import pytest

from elmo_bench import sources
from elmo_bench.files import read_kept, write_kept
from elmo_bench.plugins import load_task
from elmo_bench.runs import kept_examples
from elmo_bench.runs.kept_examples import EXAMPLES, HEAD, SplitReading, load_examples, read_split_once
from elmo_bench.tasks.ner import NerTask
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
            return SplitReading(list(NER.read(self.files)), {"blank lines": 2})

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
    assert door.kept.is_file()  # the only one: replaced, not added
    assert door.read(make_task("pos", tags="upos")) is not door.read(make_task("pos", tags="xpos"))
    assert door.parsed == 4
    assert len(list((door.cache / EXAMPLES).iterdir())) == 3


@pytest.mark.parametrize("task", TASKS)
def test_no_reader_asks_for_the_settings_of_the_head(task: str, world: Path) -> None:
    config = run_config(f"task={task}", root=world)
    files = sources.prepare(config.task, config.data, config.paths, print).files["dev"]
    plugin = load_task(config.task)
    object.__setattr__(plugin, HEAD, None)
    assert list(plugin.read(files))


def test_another_head_reads_what_is_kept(door: Door) -> None:
    door.read()
    door.read(make_task("ner", head={"dropout": 0.25}))
    assert door.parsed == 1


def test_code_that_is_younger_than_the_process_keeps_nothing(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_examples.digest_code.cache_clear()
    monkeypatch.setattr(kept_examples, "STARTED", 0.0)
    door.read()
    assert door.read() == door.read()
    assert door.parsed == 3
    kept_examples.digest_code.cache_clear()


def test_what_cannot_be_written_is_not_kept(door: Door) -> None:
    unusual = SplitReading([{"a set"}], {})  # type: ignore[list-item]
    for _ in range(2):
        assert read_split_once(NER, door.files, door.cache, lambda: unusual) is unusual


def test_a_file_that_may_not_be_read_is_parsed(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = door.read()

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert door.read() == whole
    assert door.parsed == 2


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


class Named:
    """Written as a persistent name, as kept examples write an instance."""

    def __init__(self, *key: Any) -> None:
        self.key = key


class Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> Any:
        return value.key if isinstance(value, Named) else None


def named(module: str, name: str, state: Any = None) -> bytes:
    buffer = io.BytesIO()
    Pickler(buffer, protocol=5).dump(([Named(module, name, 0, state or {})], {}))
    return buffer.getvalue()


class Called:
    """Names a function that runs when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


HOSTILE = {
    "a function": pickle.dumps(Called(os.system, "touch sentinel")),
    "a constructor": b"celmo_bench.tasks.ner\nNerExample\n(tR.",
    "a change of a class": (
        b"\x80\x04\x8c\x14elmo_bench.tasks.ner\x8c\x07NerTask\x93N}\x8c\x07versionKcs\x86b."
    ),
    "a class from elsewhere": named("subprocess", "Popen", {"args": "touch sentinel"}),
    "a function of the readers": named("elmo_bench.data.tags", "chunks_of"),
    "a class that a task imports": named("elmo_bench.tasks.ner", "Vocabularies"),
    "a method of a class": named("elmo_bench.tasks.ner", "NerTask.read"),
}


@pytest.mark.parametrize("content", HOSTILE)
def test_a_file_with_the_right_hash_can_run_and_change_nothing(
    content: str, door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before, whole = dict(vars(NerTask)), door.read()
    head = (read_kept(door.kept) or b"")[:64]
    write_kept(door.kept, head + HOSTILE[content])
    assert door.read() == whole
    assert door.parsed == 2
    assert not Path("sentinel").exists()
    assert dict(vars(NerTask)) == before
    with pytest.raises(pickle.UnpicklingError, match=r"nothing that could be called|no part of an example"):
        load_examples(HOSTILE[content])


def test_no_example_names_anything_that_could_be_called(door: Door) -> None:
    door.read()
    content = (read_kept(door.kept) or b"")[64:]
    assert {code.name for code, _, _ in pickletools.genops(content)} & {
        "GLOBAL",
        "STACK_GLOBAL",
        "INST",
    } == set()


def test_a_task_from_outside_is_read_every_time(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(NER), "__module__", "somebodys_task")
    door.read()
    door.read()
    assert door.parsed == 2
    assert not (door.cache / EXAMPLES).exists()
