"""Damage to a biLM that was trained here: in the cache it is made again, elsewhere it is refused by name."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.bilm.engine.embedder import load_embedder
from elmo_bench.bilm.trained import FILES, RECORD_FILE
from elmo_bench.bilm.verification import is_intact
from elmo_bench.encoders.find import find_encoder, plan_encoder
from elmo_bench.sweep import pretraining as pretraining_jobs
from elmo_bench.types import BenchError, DamagedFileError, UsageError
from tests.support.caches import copy_cache
from tests.support.composition import pretrain_one, pretraining, run_config
from tests.support.damage import (
    CONTENT,
    DAMAGE,
    Damage,
    become_dangling,
    become_directory,
    become_link,
    delete,
    flip,
    truncate,
)

SETTINGS = ("bilm=tiny", "bilm.steps=4", "bilm.curve_every=2", "bilm.curve_tokens=20")
OPTIONS: dict[str, Callable[[dict[str, Any]], None]] = {
    "another clip": lambda lstm: lstm.update(cell_clip=1.0),
    "no skip connections": lambda lstm: lstm.update(use_skip_connections=False),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with its text."""
    directory = tmp_path_factory.mktemp("own")
    chooser = random.Random(1)
    for name, count in (("train.txt", 60), ("heldout.txt", 5)):
        lines = [" ".join(chooser.choices("abcdefgh", k=6)) for _ in range(count)]
        (directory / name).write_text("\n".join(lines) + "\n")
    pretrain_one(values(directory))
    return directory


@pytest.fixture
def copied(root: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(root, tmp_path / "own"))


def values(root: Path) -> dict[str, Any]:
    return pretraining(root, *SETTINGS, f"corpus={root}")


def change_options(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(path.read_text())
    change(content["lstm"])
    path.write_text(json.dumps(content))


def contents(directory: Path) -> dict[str, bytes | None]:
    return {path.name: path.read_bytes() if path.is_file() else None for path in sorted(directory.rglob("*"))}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", [*FILES, RECORD_FILE])
def test_a_damaged_model_of_the_user_is_refused_and_not_touched(
    copied: Path, name: str, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    model = copied / "models" / "tiny"
    assert is_intact(model)
    damage(model / name)
    before = contents(model)
    if damage is become_link:  # where the user keeps a file is the user's business, if it is the same file
        pretrain_one(values(copied))
        assert "is already trained" in capsys.readouterr().out
    else:
        with pytest.raises(DamagedFileError, match=rf"{model}.*restore the file, or move .* away"):
            pretrain_one(values(copied))
    assert contents(model) == before


def test_a_plan_does_not_take_another_model_for_the_one_that_is_asked_for(copied: Path) -> None:
    asked = pretraining_jobs.KIND.read(values(copied))
    assert pretraining_jobs.KIND.locate(asked).done
    with pytest.raises(UsageError, match="holds a biLM trained in another way or on other text"):
        pretraining_jobs.KIND.locate(asked.model_copy(update={"seed": 2}))


@pytest.mark.parametrize("name", [".", "..", "-x"])
def test_a_model_is_never_named_like_a_directory_above(copied: Path, name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        pretraining_jobs.KIND.read({**values(copied), "name": name})


def test_a_cut_vocabulary_is_named_and_not_the_softmax_that_it_does_not_fit(copied: Path) -> None:
    truncate(copied / "models" / "tiny" / "vocabulary.txt")
    with pytest.raises(DamagedFileError, match=r"vocabulary\.txt differs from its hash"):
        pretrain_one(values(copied))


def test_a_sweep_does_not_take_a_damaged_model_for_done(copied: Path) -> None:
    command = pretraining_jobs.KIND.read(values(copied))
    assert pretraining_jobs.locate_model(command).done
    flip(copied / "models" / "tiny" / "weights.safetensors")
    with pytest.raises(DamagedFileError, match="weights"):
        pretraining_jobs.locate_model(command)


@pytest.mark.parametrize("change", OPTIONS.values(), ids=OPTIONS)
def test_changed_options_do_not_make_another_encoder(copied: Path, change: Any) -> None:
    model = copied / "models" / "tiny"
    load_embedder(model)
    change_options(model / "options.json", change)
    with pytest.raises(DamagedFileError, match=r"options\.json does not state the architecture"):
        load_embedder(model)
    (model / RECORD_FILE).unlink()  # a model from elsewhere is taken as it is
    load_embedder(model)


@pytest.fixture(scope="module")
def cache(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the generated world and the model that is trained on it."""
    return copy_cache(sample, tmp_path_factory.mktemp("damaged"))


def find(cache: Path, said: list[str]) -> str:
    """The fingerprint of the sample encoder, which is made if need be."""
    config = run_config("task=ner", "bilm@encoder.bilm=tiny", "trainer.threads=1", root=cache)
    found = find_encoder(config.encoder, config.paths, config.trainer, said.append)
    assert plan_encoder(config.encoder, config.paths, config.trainer, said.append) is None
    return found.card.fingerprint


def as_other_encoder(directory: Path) -> None:
    change_options(directory / "options.json", OPTIONS["another clip"])


def as_link(directory: Path) -> None:
    shutil.rmtree(directory)
    become_dangling(directory.parent / shutil.copy(__file__, directory))


def as_unfinished(directory: Path) -> None:
    """As a killed training leaves it, and then its work is damaged."""
    (directory / RECORD_FILE).unlink()
    work = directory.with_name(f".{directory.name}-work")
    work.mkdir()
    (work / "identity").write_bytes(b"\xff")


def as_unfinished_without_mark(directory: Path) -> None:
    """The same with a directory in the place of the mark."""
    as_unfinished(directory)
    become_directory(directory.with_name(f".{directory.name}-work") / "identity")


MODEL_DAMAGE: dict[str, Callable[[Path], object]] = {
    "flipped weights": lambda model: flip(model / "weights.safetensors"),
    "flipped record": lambda model: flip(model / RECORD_FILE),
    "no vocabulary": lambda model: delete(model / "vocabulary.txt"),
    "no record": lambda model: delete(model / RECORD_FILE),
    "another encoder": as_other_encoder,
    "a dangling link": as_link,
    "unfinished, of unknown settings": as_unfinished,
    "unfinished, its mark a directory": as_unfinished_without_mark,
}


QUICK = ("flipped weights", "unfinished, of unknown settings", "unfinished, its mark a directory")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MODEL_DAMAGE]
)
def test_a_damaged_model_of_the_cache_is_made_again(cache: Path, name: str) -> None:
    fingerprint = find(cache, said := [])
    assert said == []
    (model,) = (cache / "cache" / "models").glob("sample-*")
    MODEL_DAMAGE[name](model)
    assert find(cache, said) == fingerprint
    assert f"{model}: damaged or incomplete; making it again" in said
    assert find(cache, said := []) == fingerprint and said == []


def test_the_work_of_a_process_killed_after_the_last_file_is_removed(cache: Path) -> None:
    find(cache, [])
    (model,) = (cache / "cache" / "models").glob("sample-*")
    work = model.with_name(f".{model.name}-work")
    (work / "checkpoints").mkdir(parents=True)
    (work / "checkpoints" / "step-000000004-0123456789abcdef.ckpt").touch()
    find(cache, [])
    assert not work.exists()


@pytest.mark.parametrize("damage", [*CONTENT, become_directory])
def test_unfinished_work_of_the_user_is_refused_by_name_and_not_touched(
    root: Path, tmp_path: Path, damage: Damage
) -> None:
    settings = pretraining(tmp_path, *SETTINGS, f"corpus={root}", "limits.steps=2")
    pretrain_one(settings)
    (identity,) = tmp_path.glob("runs/pretraining/tiny/identity")
    damage(identity)
    before = contents(identity.parent)
    with pytest.raises(UsageError, match=r"tiny/identity: not of this training.*or the file is damaged"):
        pretrain_one(settings)
    assert contents(identity.parent) == before


def test_a_directory_that_is_not_a_model_is_refused_before_hours_are_spent(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for name in ("train.txt", "heldout.txt"):
        (tmp_path / name).write_text("a b\n" * 9)
    (tmp_path / "models" / "tiny").write_text("the user's own notes")
    with pytest.raises(BenchError, match="not a directory"):
        pretrain_one(values(tmp_path))
    assert (tmp_path / "models" / "tiny").read_text() == "the user's own notes"
