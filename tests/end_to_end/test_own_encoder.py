"""An encoder outside the repository: one Python file and one YAML file do all that ours do."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elmo_bench import directories
from elmo_bench.cli.main import main
from elmo_bench.config import RunConfig, read_config
from elmo_bench.records import read_record
from elmo_bench.runs import fitting
from elmo_bench.runs.execution import run_job
from elmo_bench.runs.outcome import Outcome
from elmo_bench.sources import prepare
from elmo_bench.sweep.compose import compose
from elmo_bench.testing import check_encoder
from elmo_bench.types import UsageError
from tests.support.caches import copy_cache
from tests.support.processes import places

MODULE = '''
from typing import Literal

import numpy as np
from pydantic.dataclasses import dataclass

from elmo_bench.encoders.protocol import EncoderCard, EncoderPlugin, FoundEncoder

CALLS = []


@dataclass(frozen=True)
class LetterEncoder(EncoderPlugin):
    """Layer 0 counts the letters of a word; layer 1 adds its neighbours."""

    dim: int
    neighbours: Literal["left", "both"] = "both"

    def find(self, context):
        card = EncoderCard(context.name, self.make_fingerprint("letters 1"), layer_count=2, dim=self.dim)
        return FoundEncoder(card, lambda: Letters(self, card))


class Letters:
    def __init__(self, settings, card):
        self.settings = settings
        self.fingerprint, self.layer_count, self.dim = card.fingerprint, card.layer_count, card.dim

    def layers(self, sentences):
        CALLS.append(len(sentences))
        return [self.sentence(words) for words in sentences]

    def sentence(self, words):
        counts = np.zeros((len(words), self.dim), np.float32)
        for row, word in zip(counts, words):
            for letter in word:
                row[ord(letter) % self.dim] += 1 / len(word)
        padded = np.pad(counts, ((1, 1), (0, 0)))
        near = padded[:-2] + (padded[2:] if self.settings.neighbours == "both" else 0)
        return np.stack([counts, counts + near])
'''
CONFIG = """
name: letters
plugin: letters_of_a_word.LetterEncoder
dim: 12
neighbours: both
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What somebody has written."""
    directory = tmp_path_factory.mktemp("outside")
    (directory / "encoder").mkdir()
    (directory / "encoder" / "letters.yaml").write_text(CONFIG)
    (directory / "letters_of_a_word.py").write_text(MODULE)
    return directory


@pytest.fixture(autouse=True)
def registered(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As --config-dir registers it, for one test."""
    monkeypatch.setattr(directories, "_own", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    directories.add_directory(directory)
    yield
    sys.modules.pop("letters_of_a_word", None)


@pytest.fixture(scope="module")
def root(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_cache(world, tmp_path_factory.mktemp("runs"))


def words_of(root: Path, *overrides: str, **elsewhere: Path) -> list[str]:
    tiny = ["trainer.threads=1", "task.training.epochs=2", *places(root, **elsewhere)]
    return ["task=pos", "encoder=letters", *tiny, *overrides]


def config_of(root: Path, *overrides: str, **elsewhere: Path) -> RunConfig:
    return read_config(RunConfig, compose(words_of(root, *overrides, **elsewhere)))


def finished(root: Path, *overrides: str, **elsewhere: Path) -> Outcome:
    return run_job(config_of(root, *overrides, **elsewhere), lambda message: None)


def module() -> Any:
    return importlib.import_module("letters_of_a_word")


def test_it_holds_the_contract() -> None:
    letters = module().LetterEncoder
    card = check_encoder(letters(12), variants=[letters(12, "left"), letters(6)], tolerance=0)
    assert (card.layer_count, card.dim) == (2, 12)


def test_it_runs_with_and_without_elmo_and_is_compared(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_elmo, without = finished(root), finished(root, "elmo=none")
    assert with_elmo.record.encoder == "letters"
    learnt = with_elmo.record.learnt["input"]
    assert (learnt["layers"], learnt["weights"]) == ([1], [1.0])
    assert without.record.encoder is None
    assert main(["compare", str(without.directory), str(with_elmo.directory)]) == 0
    assert "ELMo (letters) at input" in capsys.readouterr().out


def test_its_layers_are_stored_and_read_by_other_runs(root: Path) -> None:
    finished(root)
    before = len(module().CALLS)
    finished(root, "elmo.lambda=0.5")
    assert len(module().CALLS) == before
    finished(root, "encoder.neighbours=left")
    assert len(module().CALLS) > before


def test_its_settings_are_part_of_the_condition(root: Path) -> None:
    conditions = {
        finished(root, *words).record.condition
        for words in ((), ("encoder.neighbours=left",), ("encoder.dim=6",))
    }
    assert len(conditions) == 3


def test_an_interrupted_run_resumes(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = finished(root)
    save = fitting.CheckpointDirectory.save

    def save_and_stop(self: fitting.CheckpointDirectory, *arguments: Any) -> None:
        save(self, *arguments)
        raise RuntimeError("stopped")

    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="stopped"):
        patched.setattr(fitting.CheckpointDirectory, "save", save_and_stop)
        finished(root, runs=tmp_path)
    told: list[str] = []
    resumed = run_job(config_of(root, runs=tmp_path), told.append)
    assert any("step-" in line for line in told)
    assert resumed.record.hashes == whole.record.hashes


def test_a_finished_run_is_restored_by_predict(
    root: Path, directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, config = finished(root), config_of(root)
    own = prepare(config.task, config.data, config.paths, print).files["test"].paths[0]
    target = tmp_path / "predictions.jsonl"
    words = [str(run.directory), str(own), "--output", str(target), *places(root)]
    assert main(["predict", *words]) == 0
    assert target.read_bytes() == (run.directory / "predictions-test.jsonl").read_bytes()
    assert read_record(run.directory / "result.json").config["encoder"]["dim"] == 12


def test_it_is_validated(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", *words_of(root)]) == 0
    assert "letters: layers 0 to 1, 12 dimensions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("+encoder.neighbour=left", "encoder.neighbour: there is no such key; did you mean 'neighbours'?"),
        ("encoder.neighbours=right", "encoder.neighbours: input should be 'left' or 'both', got 'right'"),
        ("encoder.dim=many", "encoder.dim: input should be a valid integer"),
        ("~encoder.dim", "encoder.dim: a value is needed"),
        ("encoder.plugin=letters_of_a_word.Letters", "no file of conf/encoder names this class"),
    ],
)
def test_a_wrong_setting_is_named(root: Path, override: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        finished(root, override)
    assert message in str(caught.value)
