"""What the project made itself it makes again: damage is noticed before use, and one line says so."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from elmo_bench import world
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.bilm.training.text import encode_shards
from elmo_bench.data.mapped_vectors import map_vectors
from elmo_bench.encoders.bilm import RandomBilm
from elmo_bench.encoders.protocol import EncoderContext
from elmo_bench.files import CHECKSUMS, read_kept, write_kept
from elmo_bench.runs.inputs import gather
from elmo_bench.runs.preparation import prepare as prepare_run
from elmo_bench.sources import prepare
from elmo_bench.sweep.runs import locate_run
from elmo_bench.training.checkpoints import CheckpointDirectory
from elmo_bench.training.lightning import pl
from elmo_bench.types import DamagedFileError, DataError, Log
from elmo_bench.world import WorldSize
from tests.support.composition import run_config
from tests.support.damage import CONTENT, DAMAGE, Damage, become_dangling, become_directory

SMALL = WorldSize(
    text=2, heldout=1, pos=(1, 1, 1), ner=(1, 1, 1), srl=(1, 1, 1), wsd=(1, 1, 1),
    sst5=(3, 3, 3), snli=(3, 3, 3), coref=(1, 1, 1), squad=(1, 1, 1),
)  # fmt: skip
TINY = BilmOptions(character_dim=2, filters=((1, 4),), highways=1, layers=1, cell_dim=4, projection_dim=2)


def make_world(root: Path, log: Log) -> Path:
    config = run_config("task=ner", root=root)
    corpus = prepare(config.task, config.data, config.paths, log)
    return corpus.files["train"].paths[0].parents[1]


def make_twin(root: Path, log: Log) -> Path:
    config = run_config("task=ner", root=root)
    context = EncoderContext("untrained", config.paths, config.trainer, log)
    return RandomBilm(architecture=TINY).locate(context)[1].parent


def make_vectors(root: Path, log: Log) -> Path:
    (root / "vectors.txt").write_text("a 1 2\nb 3 4\n")
    map_vectors(root / "vectors.txt", root / "cache", log)
    (made,) = (root / "cache" / "vectors").glob("vectors.txt-*")
    return made


def make_encoded(root: Path, log: Log) -> Path:
    (root / "text.txt").write_text("a b a\nb c\n")
    encode_shards([root / "text.txt"], root / "encoded", log)
    return root / "encoded"


MAKERS: dict[str, tuple[Callable[[Path, Log], Path], str]] = {
    "world": (make_world, "ner/train.conll"),
    "twin": (make_twin, "options.json"),
    "vectors": (make_vectors, "vectors.f32"),
    "encoded text": (make_encoded, "tokens.int32"),
}


def contents(directory: Path) -> dict[str, bytes]:
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(autouse=True)
def small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    write = world.write_world
    monkeypatch.setattr(world, "write_world", lambda directory: write(directory, SMALL))


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("kind", MAKERS)
def test_a_damaged_file_is_made_again_and_never_read(kind: str, damage: Damage, tmp_path: Path) -> None:
    make, name = MAKERS[kind]
    made = make(tmp_path, lambda message: None)
    before = contents(made)
    for victim in (name, CHECKSUMS):
        damage(made / victim)
        said: list[str] = []
        assert make(tmp_path, said.append) == made
        assert contents(made) == before
        assert [line for line in said if line.startswith(f"{made}: ") and "making it again" in line]
    assert make(tmp_path, pytest.fail) == made


def test_a_corpus_that_changes_while_a_run_reads_it_makes_no_record(tmp_path: Path) -> None:
    config = run_config("task=ner", "elmo=none", root=tmp_path)
    prepared = prepare_run(config, lambda message: None)
    path = prepared.corpus.files["train"].paths[0]
    path.write_text(path.read_text() * 2)
    with pytest.raises(DataError, match="its files changed while the run read them"):
        gather(config, prepared, lambda message: None)


def test_a_plan_does_not_take_a_damaged_record_for_a_finished_run(tmp_path: Path) -> None:
    config = run_config("task=ner", "elmo=none", root=tmp_path)
    target = locate_run(config)
    assert not target.done
    target.record.parent.mkdir(parents=True)
    target.record.write_text('{"kind": "run"')
    with pytest.raises(DamagedFileError, match=f"{target.record}: not a record"):
        locate_run(config)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_set_aside_for_the_one_before(damage: Damage, tmp_path: Path) -> None:
    for step, content in ((1, b"the first state"), (2, b"the second state")):
        digest = hashlib.sha256(content).hexdigest()[:16]
        (tmp_path / f"step-{step:09d}-{digest}.ckpt").write_bytes(content)
    first, second = sorted(tmp_path.glob("step-*.ckpt"))
    checkpoints = CheckpointDirectory(tmp_path, lambda message: None)
    assert checkpoints.newest() == second
    for _ in range(2):  # what was set aside before may be in the way
        damage(second)
        assert checkpoints.newest() == first
        second.write_bytes(b"the second state")


class Trained:
    """A trainer that has made three steps."""

    global_step, is_global_zero = 3, True

    def save_checkpoint(self, path: Path) -> None:
        path.write_bytes(b"the third state")


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_checkpoint_is_saved_whatever_stands_in_its_way(damage: Damage, tmp_path: Path) -> None:
    for name in (".writing.tmp", "step-000000001-0123456789abcdef.ckpt"):
        (tmp_path / name).write_bytes(b"of a killed process")
        damage(tmp_path / name)
    checkpoints = CheckpointDirectory(tmp_path, lambda message: None)
    checkpoints.save(cast(pl.Trainer, Trained()))
    (saved,) = (path for path in tmp_path.iterdir() if not path.name.startswith(".elsewhere"))
    assert saved == checkpoints.newest()
    assert saved.read_bytes() == b"the third state"


@pytest.mark.parametrize("damage", [*CONTENT, become_directory, become_dangling])
def test_a_damaged_result_in_the_cache_is_computed_again(damage: Damage, tmp_path: Path) -> None:
    path = tmp_path / "results" / "kept"
    assert read_kept(path) is None
    write_kept(path, b"the scores of a thousand drawn test sets")
    assert read_kept(path) == b"the scores of a thousand drawn test sets"
    damage(path)
    assert read_kept(path) is None
    write_kept(path, b"computed again")
    assert read_kept(path) == b"computed again"
