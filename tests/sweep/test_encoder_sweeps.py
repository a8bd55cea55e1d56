"""Sweeps over encoders and their layers: which jobs they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmo_bench.bilm.files import save_bilm
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.config import RunConfig
from elmo_bench.sweep.compose import open_composer
from elmo_bench.sweep.jobs import list_jobs
from elmo_bench.sweep.keys import drop_foreign_keys
from elmo_bench.sweep.runs import expand_layers
from elmo_bench.types import DataMissingError
from tests.support.composition import run_config
from tests.sweep.test_experiments import jobs_of, parse, sweep_of


def test_a_condition_that_names_a_task_is_of_that_task_alone() -> None:
    conditions = {"listed": [], "alone": ["task=pos", "elmo=none", "words=random"]}
    sweep = sweep_of({"task": "ner,pos", "elmo": "paper"}, conditions)
    assert list_jobs(parse, sweep, []) == [
        ["task=ner", "elmo=paper"],
        ["task=pos", "elmo=paper"],
        ["task=pos", "elmo=none", "words=random"],
    ]
    assert list_jobs(parse, sweep, ["task=ner"]) == [["task=ner", "elmo=paper"]]


def test_encoders_are_compared_on_all_tasks_with_the_baseline_of_each() -> None:
    jobs = [set(job) for job in jobs_of("encoders", "encoder=words,small", "seed=1")]
    assert {"encoder=small", "task=snli", "elmo=paper"} <= set().union(*jobs)
    baselines = [job for job in jobs if "elmo=none" in job and "encoder=small" in job]
    tasks = sorted(word for job in baselines for word in job if word.startswith("task="))
    assert tasks == sorted(
        f"task={task}" for task in ["squad", "snli", "srl", "coref", "ner", "sst5", "pos", "wsd"]
    )
    (probe,) = [job for job in baselines if "task=pos" in job]
    assert "words=random" in probe
    senses = set().union(*(job for job in jobs if "task=wsd" in job))
    layers = {word for word in senses if word.startswith("elmo.layers=")}
    assert layers == {"elmo.layers=each"}


def test_an_encoder_with_settings_is_added_as_a_condition() -> None:
    words = ["encoder=model", "encoder.directory=A"]
    sweep = sweep_of({"encoder": "words", "task": "ner"}, {"listed": [], "a": words})
    assert list_jobs(parse, sweep, []) == [
        ["encoder=words", "task=ner"],
        ["encoder=model", "task=ner", "encoder.directory=A"],
    ]


def test_rates_are_tried_without_test_data() -> None:
    jobs = jobs_of("rates", "task=ner,pos")
    assert all("evaluate.splits=dev" in job for job in jobs)
    rates = {word for job in jobs for word in job if word.startswith("task.training.optimiser.lr=")}
    assert len(rates) > 2
    for kind in (["elmo=none"], ["encoder=words", "elmo=paper"], ["encoder=small_long", "elmo=paper"]):
        of_kind = [job for job in jobs if "task=ner" in job and set(kind) <= set(job)]
        assert {word for job in of_kind for word in job} >= rates  # the same grid for everybody


def test_the_name_of_a_twin_chooses_the_twin() -> None:
    twin = run_config("task=ner", "encoder=untrained_sample").encoder
    assert (twin.name, twin.untrained, twin.full_name) == ("sample", True, "untrained_sample")
    assert run_config("task=ner", "encoder=untrained").encoder.full_name == "untrained"
    with open_composer() as composer:
        assert composer.translate("config", ["encoder=untrained_small_open"]) == [
            "encoder=small_open",
            "encoder.untrained=true",
        ]


def without_foreign_keys(*words: str) -> tuple[list[list[str]], list[str]]:
    said: list[str] = []
    with open_composer() as composer:
        jobs = list_jobs(composer.parse, sweep_of({}, {}), ["task=ner", *words])
        return drop_foreign_keys(composer, "config", jobs, said.append), said


def test_a_key_that_only_some_encoders_have_is_for_those() -> None:
    jobs, said = without_foreign_keys(
        "encoder=small,transformer,model",
        "encoder.model=A",
        "encoder.device=cpu",
        "encoder.precision=float32",
    )
    shared = ["encoder.device=cpu", "encoder.precision=float32"]
    assert jobs == [
        ["task=ner", "encoder=small", *shared],
        ["task=ner", "encoder=transformer", "encoder.model=A", *shared],
        ["task=ner", "encoder=model", *shared],
    ]
    assert said == [
        "encoder.model: only for encoder=transformer; the other choices of the sweep have no such key"
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("encoder=small,transformer", "encoder.modle=A"),  # a mistake everywhere
        ("encoder=small", "encoder.model=A"),  # nothing is swept
        ("encoder=small,nothing", "encoder.model=A"),  # the job says that there is no such choice
        ("encoder=small,words", "encoder.model=A,B"),
    ],
)
def test_a_key_that_no_encoder_has_is_left_for_the_job_to_refuse(words: tuple[str, ...]) -> None:
    jobs, said = without_foreign_keys(*words)
    assert all(any(word.startswith("encoder.mod") for word in job) for job in jobs if "encoder=small" in job)
    assert said == []


@pytest.fixture
def model(tmp_path: Path) -> Path:
    sizes = BilmOptions(filters=((1, 8),), highways=1, cell_dim=12, projection_dim=6, layers=4)
    save_bilm(BiLM(sizes), tmp_path / "model")
    return tmp_path / "model"


def test_each_is_one_job_for_every_layer_of_the_encoder(model: Path, tmp_path: Path) -> None:
    def read(job: list[str]) -> RunConfig:
        return run_config("task=pos", *job, root=tmp_path)

    chosen = ["encoder=model", f"encoder.directory={model}"]
    jobs = expand_layers([*chosen, "elmo.layers=each", "seed=2"], read)
    assert jobs == [[*chosen, f"elmo.layers={layer}", "seed=2"] for layer in range(5)]
    assert expand_layers([*chosen, "elmo.layers=all"], read) == [[*chosen, "elmo.layers=all"]]
    assert expand_layers([*chosen, "elmo=none", "elmo.layers=each"], read) == [
        [*chosen, "elmo=none", "elmo.layers=0"]
    ]


def test_an_encoder_that_is_not_there_leaves_one_job_for_the_plan_to_refuse(tmp_path: Path) -> None:
    def read(job: list[str]) -> RunConfig:
        return run_config("task=pos", *job, root=tmp_path)

    def fail(job: list[str]) -> RunConfig:
        raise DataMissingError("no such model")

    missing = ["encoder=model", f"encoder.directory={tmp_path / 'nowhere'}"]
    for reader in (read, fail):
        assert expand_layers([*missing, "elmo.layers=each"], reader) == [[*missing, "elmo.layers=0"]]
