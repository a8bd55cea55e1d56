"""tuning=task: a run whose encoder is fine-tuned on the task's own text when the run first needs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elmo_bench.config import RunConfig
from elmo_bench.records import read_record
from elmo_bench.runs.execution import run_job
from elmo_bench.runs.outcome import Outcome
from elmo_bench.runs.preparation import foresee
from elmo_bench.sweep.runs import KIND
from elmo_bench.types import UsageError
from tests.support.composition import compose, finetune_one, pretrain_one, pretraining

FILES = {"train": 30, "dev": 8, "test": 8}
SCHEDULE = ("batches.tokens=64", "descent.lr=0.02", "products=float32", "curve_every=5")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tiny model, and a corpus of which it knows no word."""
    lines = [" ".join(f"word{(number + place) % 7}" for place in range(6)) for number in range(60)]
    (tmp_path / "text").mkdir()
    for name in ("train.txt", "heldout.txt"):
        (tmp_path / "text" / name).write_text("\n".join(lines) + "\n")
    for split, count in FILES.items():
        rows = [f"Ada{number % 5} B-PER\nsang O\n{split}{number} O\n" for number in range(count)]
        (tmp_path / f"{split}.conll").write_text("\n".join(rows))
    pretrain_one(pretraining(tmp_path, "bilm=tiny", f"corpus={tmp_path}/text"))
    return tmp_path


def words(root: Path) -> list[str]:
    files = [f"data.{split}={root}/{split}.conll" for split in FILES]
    return ["task=ner", "data=files", *files, "encoder=model", f"encoder.directory={root}/models/tiny"]


def run_of(root: Path, *overrides: str) -> RunConfig:
    places = [f"paths.{name}={root / name}" for name in ("runs", "cache", "records", "models")]
    settings = ["words=random", "task.training.epochs=1"]
    return KIND.read(compose(*words(root), *places, *settings, "trainer.threads=1", *overrides))


def tuned_run(root: Path, *overrides: str) -> RunConfig:
    return run_of(root, "tuning=task", *(f"tuning.bilm.{word}" for word in SCHEDULE), *overrides)


def finetuning(root: Path, *overrides: str) -> Path:
    """The same fine-tuning by pretrain.py."""
    own = [*words(root), *(f"bilm.{word}" for word in SCHEDULE)]
    return finetune_one(pretraining(root, *own, *overrides, entry="finetune")).parent


def do(config: RunConfig) -> tuple[Outcome, list[str]]:
    said: list[str] = []
    return run_job(config, said.append), said


def test_a_plan_makes_no_model_and_the_run_makes_it(root: Path) -> None:
    config = tuned_run(root)
    planned = KIND.locate(config)
    assert not planned.done and not (root / "models" / "tiny-ner-own").exists()
    assert planned.record != KIND.locate(run_of(root)).record
    outcome, _ = do(config)
    assert (root / "models" / "tiny-ner-own" / "record.json").is_file()
    assert KIND.locate(config).done
    assert foresee(config, print) == outcome.directory
    assert do(config)[0].status == "already done"


def test_the_record_says_where_the_encoder_comes_from(root: Path) -> None:
    tuned, plain = do(tuned_run(root))[0].record, do(run_of(root))[0].record
    model = json.loads((root / "models" / "tiny-ner-own" / "record.json").read_text())
    assert tuned.encoder == "tiny-ner-own" and plain.tuned is None
    assert tuned.tuned is not None
    assert tuned.tuned.base_fingerprint == plain.identity["encoder_fingerprint"]
    assert tuned.tuned.base_fingerprint != tuned.identity["encoder_fingerprint"]
    assert (tuned.tuned.identity, tuned.tuned.steps) == (model["identity"], model["steps"])
    assert tuned.tuned.finetuned.encoder == "tiny" and tuned.tuned.finetuned.task == "ner"
    assert set(model["finetuned"]["data_sha256"]) == {"train", "dev"}  # test is never opened
    differing = {key for key in tuned.identity if tuned.identity[key] != plain.identity[key]}
    assert differing == {"encoder_fingerprint"}  # the recipe is no part of a condition, its result is


def test_it_is_the_model_that_pretraining_makes(root: Path) -> None:
    directory = finetuning(root)
    before = (directory / "weights.safetensors").stat().st_mtime_ns
    _, said = do(tuned_run(root))
    assert not [line for line in said if "already trained" in line]  # a run trains nothing and says nothing
    assert (directory / "weights.safetensors").stat().st_mtime_ns == before


def test_all_text_is_read_whatever_part_of_the_examples_a_run_learns_from(root: Path) -> None:
    outcome, _ = do(tuned_run(root, "data.fraction=0.2"))
    model = json.loads((root / "models" / "tiny-ner-own" / "record.json").read_text())
    assert outcome.record.examples["train"] == 0.2 * FILES["train"]
    assert model["corpus"]["sentences"] == FILES["train"]


def test_an_interrupted_fine_tuning_goes_on_in_the_run(root: Path) -> None:
    finetuning(root, "limits.steps=1")
    outcome, said = do(tuned_run(root))
    assert any("resuming from step-000000001" in line for line in said)
    assert outcome.record == read_record(outcome.directory / "result.json")


def test_another_schedule_than_that_of_the_model_is_refused(root: Path) -> None:
    do(tuned_run(root))
    with pytest.raises(UsageError, match="tiny-ner-own holds a biLM trained in another way"):
        do(tuned_run(root, "tuning.bilm.dropout=0.3"))


def test_without_elmo_nothing_is_tuned(root: Path) -> None:
    tuned, plain = (do(config)[0] for config in (tuned_run(root, "elmo=none"), run_of(root, "elmo=none")))
    assert tuned.record.tuned is None and not (root / "models" / "tiny-ner-own").exists()
    assert (tuned.directory, plain.status) == (plain.directory, "already done")


def test_an_untrained_twin_is_not_taken_for_the_model_itself(root: Path) -> None:
    with pytest.raises(UsageError, match=r"untrained.*no softmax weights"):
        do(tuned_run(root, "encoder.untrained=true"))
    assert not (root / "models" / "tiny-ner-own").exists()
