"""The store under kill -9, damage, a second process and a full disk: never wrong vectors, nothing lost."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock

from elmo_bench.bilm.engine.embedder import Embedder
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.cli.main import main
from elmo_bench.cli.store import MADE_IN_CACHE
from elmo_bench.encoders import shards
from elmo_bench.encoders import store as store_module
from elmo_bench.encoders.protocol import EncoderCard
from elmo_bench.encoders.store import Store, Unit
from elmo_bench.files import make_once
from elmo_bench.types import BenchError
from tests.conftest import PROJECT
from tests.support.company_encoder import CARD, CompanyEncoder, sentences
from tests.support.damage import DAMAGE as ANY_DAMAGE
from tests.support.damage import Damage, become_dangling, become_directory, become_pipe, delete

TEXT = sentences()

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some ten shards from three hundred sentences."""
    monkeypatch.setattr(store_module, "SHARD_BYTES", 8_000)
    monkeypatch.setattr("elmo_bench.encoders.plan.BATCH_TOKENS", 64)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A store that was filled without interruption."""
    root = tmp_path / "whole" / "store"
    fill(root)
    assert len(list(root.rglob("*.npy"))) > 5
    return root


def fill(root: Path, log: Callable[[str], None] = lambda message: None) -> CompanyEncoder:
    encoder = CompanyEncoder()
    unit = Store(root, CARD, lambda: encoder, progress=False, log=log).open("data", TEXT)
    reference = Store(root, CARD, CompanyEncoder, mode="off", progress=False).open("data", TEXT)
    for words in set(TEXT):
        assert torch.equal(unit.layers(words), reference.layers(words))
    return encoder


def hashes(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def places(cache: Path, runs: Path) -> list[str]:
    """Overrides of the directories that `store clean` looks through."""
    return [f"paths.cache={cache}", f"paths.runs={runs}"]


def in_child(work: Callable[[], Any]) -> int:
    """Run in another process; its exit code, negative for a signal."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(timeout=60)
    assert child.exitcode is not None
    return child.exitcode


def die_at(call: int, name: str) -> None:
    """Let this process be killed at the n-th use of one function of the operating system."""
    original, calls = getattr(os, name), iter(range(call))

    def fatal(*arguments: Any, **options: Any) -> Any:
        if next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)

    setattr(os, name, fatal)


@pytest.mark.parametrize("call", [0, 1, 2, 3, 4, 9, 10, 16, 17])
@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_killed_at_any_write_and_opened_again(tmp_path: Path, whole: Path, name: str, call: int) -> None:
    root = tmp_path / "killed"

    def filling() -> None:
        die_at(call, name)
        fill(root)

    assert in_child(filling) == -signal.SIGKILL
    assert hashes(root) != hashes(whole)
    before = {path: path.stat().st_ino for path in root.rglob("*.sha256")}
    encoder = fill(root)
    assert hashes(root) == hashes(whole)
    assert all(path.stat().st_ino == inode for path, inode in before.items())  # finished files stay
    finished = Counter(path.name.split("-")[0] for path in before)  # files by shard
    saved = any(count == CARD.layer_count for count in finished.values())
    assert (len(encoder.batches) < len(fill(tmp_path / "fresh").batches)) == saved


def test_killed_again_and_again_while_encoding(tmp_path: Path, whole: Path) -> None:
    class Fatal(CompanyEncoder):
        def layers(self, sentences: Any) -> Any:
            if len(self.batches) == 6:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().layers(sentences)

    root = tmp_path / "killed"
    finished = []
    for _ in range(3):
        opening = Store(root, CARD, Fatal, progress=False, log=lambda message: None).open
        assert in_child(lambda opening=opening: opening("data", TEXT)) == -signal.SIGKILL
        finished.append(len(list(root.rglob("*.sha256"))))
    assert 0 < finished[0] < finished[1] < finished[2] < len(list(whole.rglob("*.sha256")))
    fill(root)
    assert hashes(root) == hashes(whole)


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def exchange(first: Path, second: Path) -> None:
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)


def make_old(unit: Path) -> None:
    """A unit as the version before wrote it: one flat array for all layers of a shard."""
    for path in [*unit.glob("*.npy"), *unit.glob("*.sha256")]:
        path.unlink()
    (unit / "00000.npy").write_bytes(b"an array")
    (unit / "00000.sha256").write_bytes(b"a checksum")
    rewrite(unit, format=1)


def rewrite(unit: Path, **changes: Any) -> None:
    description = json.loads((unit / "unit.json").read_text()) | changes
    (unit / "unit.json").write_text(json.dumps(description))


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "first byte": (lambda unit: flip(unit / "00002-layer1.npy", 0), "checksum differs"),
    "header byte": (lambda unit: flip(unit / "00002-layer1.npy", 40), "checksum differs"),
    "value byte": (lambda unit: flip(unit / "00002-layer1.npy", 1000), "checksum differs"),
    "last byte": (lambda unit: flip(unit / "00002-layer1.npy", -1), "checksum differs"),
    "checksum byte": (lambda unit: flip(unit / "00002-layer1.sha256", 5), "checksum differs"),
    "not text": (
        lambda unit: (unit / "00002-layer1.sha256").write_bytes(b"\xff\xfe\x00"),
        "checksum differs",
    ),
    "truncated": (lambda unit: os.truncate(unit / "00002-layer1.npy", 900), "checksum differs"),
    "empty": (lambda unit: os.truncate(unit / "00002-layer1.npy", 0), "checksum differs"),
    "longer": (lambda unit: os.truncate(unit / "00002-layer1.npy", 10_000), "checksum differs"),
    "missing": (lambda unit: (unit / "00002-layer1.npy").unlink(), "shard 2, layer 1 of"),
    "no checksum": (lambda unit: (unit / "00002-layer1.sha256").unlink(), "without a checksum"),
    "swapped": (
        lambda unit: exchange(unit / "00002-layer1.npy", unit / "00001-layer1.npy"),
        "checksum differs",
    ),
    "version": (lambda unit: rewrite(unit, format=shards.FORMAT + 1), "another version"),
    "other encoder": (lambda unit: rewrite(unit, encoder="beef"), "made with a different encoder"),
    "other plan": (lambda unit: rewrite(unit, sequences="beef"), "made with a different sequences"),
    "not a unit": (lambda unit: (unit / "unit.json").write_text("[]"), "another version"),
    "old version": (make_old, "written by another version"),
    "not JSON": (lambda unit: (unit / "unit.json").write_bytes(b"\xff{"), "unit.json is damaged"),
    "both missing": (lambda unit: [path.unlink() for path in unit.glob("00002-*")], "1 of 8 shards"),
    "no unit": (lambda unit: (unit / "unit.json").unlink(), "unit.json is missing"),
}


@pytest.mark.parametrize("damage", ANY_DAMAGE)
@pytest.mark.parametrize("name", ["00002-layer1.npy", "00002-layer1.sha256", "unit.json"])
def test_something_else_in_the_place_of_a_file_is_replaced(whole: Path, name: str, damage: Damage) -> None:
    original = hashes(whole)
    damage(next(whole.glob("*/unit.json")).parent / name)
    fill(whole)
    for leftover in whole.rglob(".elsewhere-*"):  # where the test has put the content of a link
        leftover.unlink()
    assert hashes(whole) == original


@pytest.mark.parametrize("damage", [become_directory, become_dangling, become_pipe, delete])
def test_a_unit_that_is_no_directory_is_replaced_and_a_damaged_one_can_be_cleaned(
    whole: Path, damage: Damage
) -> None:
    original = hashes(whole)
    unit = next(whole.glob("*/unit.json")).parent
    damage(unit / "unit.json")
    (listed,) = shards.list_units(whole)
    assert listed.encoder == "(unreadable)"
    assert shards.remove_unit(unit) and not unit.exists()
    unit.touch()
    damage(unit)
    fill(whole)
    for stranger in whole.rglob("stranger"):
        stranger.unlink()
    assert hashes(whole) == original


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed_and_repaired(whole: Path, damage: str) -> None:
    original = hashes(whole)
    spoil, told = DAMAGES[damage]
    spoil(next(whole.glob("*/unit.json")).parent)
    assert hashes(whole) != original
    said: list[str] = []
    encoder = fill(whole, said.append)  # which compares every vector
    assert any(told in message for message in said), said
    assert hashes(whole) == original
    assert encoder.batches


def test_only_the_damaged_shard_is_computed_again(whole: Path) -> None:
    paths = sorted(whole.rglob("*.npy"))
    inodes = [path.stat().st_ino for path in paths]
    flip(paths[3], 500)
    fill(whole)
    changed = [path.stat().st_ino != inode for path, inode in zip(paths, inodes, strict=True)]
    assert changed == [number == 3 for number in range(len(paths))]


def test_shards_of_another_shape_with_a_valid_checksum_are_refused(whole: Path) -> None:
    original = hashes(whole)
    unit = next(whole.glob("*/unit.json")).parent
    assert (unit / "00001-layer1.npy").stat().st_size != (unit / "00002-layer1.npy").stat().st_size
    shutil.copy(unit / "00001-layer1.npy", unit / "00002-layer1.npy")
    checksum = (unit / "00001-layer1.sha256").read_text().replace("00001", "00002")
    (unit / "00002-layer1.sha256").write_text(checksum)
    said: list[str] = []
    fill(whole, said.append)
    assert any("its shape is not" in message for message in said)
    assert hashes(whole) == original


def test_a_pickle_in_the_place_of_a_shard_is_not_run(whole: Path, tmp_path: Path) -> None:
    sentinel = tmp_path / "sentinel"
    path = next(whole.rglob("00002-layer1.npy"))
    content = b"cos\nsystem\n(S'touch " + str(sentinel).encode() + b"'\ntR."
    path.write_bytes(content)
    path.with_suffix(".sha256").write_text(f"{hashlib.sha256(content).hexdigest()}  {path.name}\n")
    said: list[str] = []
    fill(whole, said.append)
    assert any("cannot be read" in message for message in said)
    assert not sentinel.exists()


def test_two_processes_fill_once(tmp_path: Path, whole: Path) -> None:
    root, log = tmp_path / "shared", tmp_path / "log"

    class Logging(CompanyEncoder):
        def layers(self, sentences: Any) -> Any:
            with log.open("a") as file:
                file.write("batch\n")
            time.sleep(0.002)
            return super().layers(sentences)

    def filling() -> None:
        Store(root, CARD, Logging, progress=False, log=lambda message: None).open("data", TEXT)

    children = [multiprocessing.get_context("fork").Process(target=filling) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join(timeout=60)
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert hashes(root) == hashes(whole)
    assert len(log.read_text().splitlines()) == len(fill(tmp_path / "alone").batches)


def test_waiting_is_said_and_a_reader_never_waits(tmp_path: Path, whole: Path) -> None:
    unit = next(whole.glob("*/unit.json")).parent
    said: list[str] = []
    with FileLock(unit.with_name(unit.name + ".lock")):
        assert fill(whole, said.append).batches == []  # complete: no lock is needed
        assert said == []
    flip(unit / "00000-layer1.npy", -1)
    ready = multiprocessing.get_context("fork").Event()

    def holding() -> None:
        with FileLock(unit.with_name(unit.name + ".lock")):
            ready.set()
            time.sleep(0.3)

    child = multiprocessing.get_context("fork").Process(target=holding)
    child.start()
    assert ready.wait(timeout=20)
    fill(whole, said.append)
    child.join()
    assert said[0] == f"waiting: {unit} is being filled by another process"


def test_clean_leaves_what_is_being_filled(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unit = next(whole.glob("*/unit.json")).parent
    before = hashes(whole)
    ready = multiprocessing.get_context("fork").Event()
    done = multiprocessing.get_context("fork").Event()

    def holding() -> None:
        with FileLock(unit.with_name(unit.name + ".lock")):
            ready.set()
            done.wait(timeout=20)

    child = multiprocessing.get_context("fork").Process(target=holding)
    child.start()
    assert ready.wait(timeout=20)
    assert main(["store", "clean", "--all", *places(whole.parent, whole.parent)]) == 0
    done.set()
    child.join()
    assert f"{unit} is being filled by another process and is kept\n0 bytes freed" in capsys.readouterr().out
    assert hashes(whole) == before


def test_clean_removes_what_killed_processes_left_anywhere_in_the_cache(tmp_path: Path) -> None:
    def making() -> None:
        die_at(0, "replace")
        make_once(tmp_path / "world" / "v0", lambda directory: None, lambda message: None)

    assert in_child(making) == -signal.SIGKILL
    assert len(list((tmp_path / "world").glob(".v0-*.tmp"))) == 1
    assert main(["store", "clean", "--all", *places(tmp_path, tmp_path)]) == 0
    assert list((tmp_path / "world").glob(".v0-*.tmp")) == []


def test_clean_removes_the_locks_that_nobody_holds(whole: Path, tmp_path: Path) -> None:
    unit = next(whole.glob("*/unit.json")).parent
    of_a_run = tmp_path / "runs" / "ner" / ".0123abcd4567-s1.lock"
    of_a_run.parent.mkdir(parents=True)
    words = ["store", "clean", "--outdated", *places(whole.parent, tmp_path / "runs")]
    for lock in (of_a_run, unit.with_name(unit.name + ".lock")):
        with FileLock(lock):
            assert main(words) == 0
            assert lock.exists()
        assert main(words) == 0
        assert not lock.exists()


def test_clean_touches_nothing_that_others_keep_in_the_place_of_the_cache(whole: Path) -> None:
    theirs = [whole.parent / name for name in ("Cargo.lock", "project/uv.lock", "project/.x-0123abcd.tmp")]
    for path in theirs:
        path.parent.mkdir(exist_ok=True)
        path.write_text("kept")
    assert main(["store", "clean", "--all", *places(whole.parent, whole.parent / "runs")]) == 0
    assert [path.read_text() for path in theirs] == ["kept"] * 3


def test_a_full_disk_keeps_what_is_there_and_names_the_file(tmp_path: Path, whole: Path) -> None:
    unit = next(whole.glob("*/unit.json")).parent
    before = hashes(whole)
    flip(unit / "00004-layer1.npy", 700)
    spoiled = hashes(whole)
    message = tmp_path / "message"

    def filling() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
        try:
            Store(whole, CARD, CompanyEncoder, progress=False, log=lambda text: None).open("data", TEXT)
        except BenchError as error:
            message.write_text(str(error))

    assert in_child(filling) == 0
    assert f"{unit / '00004-layer1.npy'} could not be written (File too large)" in message.read_text()
    assert "store.mode=off" in message.read_text()
    assert hashes(whole) == spoiled  # nothing half-written, nothing lost
    fill(whole)
    assert hashes(whole) == before


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(BenchError, match=r"file/store.* could not be written .*paths\.cache"):
        Store(tmp_path / "file" / "store", CARD, CompanyEncoder, progress=False).open("data", TEXT)


def test_a_mapped_unit_outlives_its_files(whole: Path) -> None:
    unit = Store(whole, CARD, CompanyEncoder, progress=False).open("data", TEXT)
    before = unit.layers(TEXT[0])
    assert shards.remove_unit(next(whole.glob("*/unit.json")).parent)
    assert torch.equal(unit.layers(TEXT[0]), before)


def test_a_bilm_gives_the_same_bytes_whatever_it_encoded_before(tmp_path: Path) -> None:
    """The real encoder remembers words; a shard filled by a fresh one must not show that."""
    options = BilmOptions(
        character_dim=16,
        filters=((1, 32), (2, 32), (3, 64)),
        highways=1,
        layers=2,
        cell_dim=64,
        projection_dim=32,
    )
    model = BiLM(options, torch.Generator().manual_seed(1))
    card = EncoderCard("bilm", Embedder(model).fingerprint, layer_count=3, dim=64, repeats_halves=True)
    root = tmp_path / "store"

    def opening(mode: Any = "disk") -> Unit:
        store = Store(root, card, lambda: Embedder(model), mode=mode, progress=False)
        return store.open("data", TEXT)

    unit, off = opening(), opening("off")
    for words in reversed(TEXT):
        assert torch.equal(unit.layers(words), off.layers(words))
    original = hashes(root)
    for path in sorted(root.rglob("*.sha256")):
        path.unlink()
        opening()
        assert hashes(root) == original


def test_every_directory_of_the_cache_is_known_to_clean() -> None:
    named = re.compile(r'cache / "(\w+)"')
    code = [path.read_text(encoding="utf-8") for path in (PROJECT / "elmo_bench").rglob("*.py")]
    found = {name for text in code for name in named.findall(text)}
    assert "models" in found and found <= set(MADE_IN_CACHE)
