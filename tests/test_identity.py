"""Which changes make another run, and which do not."""

from __future__ import annotations

import pytest

from elmo_bench.catalog import read_task
from elmo_bench.conditions import fill_in, leave_out
from elmo_bench.identity import identify
from elmo_bench.records import condition_of
from tests.support.composition import TASKS, run_config

DATA = {"train": "a", "dev": "b", "test": "c"}


def condition(
    *overrides: str, data: dict[str, str] = DATA, encoder: str = "e", words: str | None = None
) -> str:
    return condition_of(identify(run_config("task=ner", *overrides), 1, data, encoder, words))


@pytest.mark.parametrize(
    "overrides",
    [
        ("elmo.lambda=0.5",),
        ("encoder=untrained",),
        ("elmo.layers=last",),
        ("elmo.layer_norm=true",),
        ("elmo.gamma=fixed",),
        ("store.dtype=float32",),
        ("encoder.layers=[0]",),
        ("encoder.context=document",),
        ("store.layers=all",),
        ("paths.runs=elsewhere", "tracking=wandb", "trainer.threads=1", "force=true", "store.mode=ram"),
    ],
)
def test_the_baseline_is_one_run_whatever_elmo_would_have_been(overrides: tuple[str, ...]) -> None:
    assert condition("elmo=none", *overrides) == condition("elmo=none")


def test_the_baseline_is_one_run_for_all_encoders() -> None:
    assert condition("elmo=none", encoder="e") == condition("elmo=none", encoder="another")


def test_the_order_of_overrides_does_not_matter() -> None:
    assert condition("elmo.lambda=0.5", "elmo.layer_norm=true") == condition(
        "elmo.layer_norm=true", "elmo.lambda=0.5"
    )


def test_the_layers_of_an_encoder_count_only_if_they_are_given_and_read() -> None:
    assert "encoder_layers" not in identify(run_config("task=ner"), 1, DATA, "e", None)["elmo"]
    some = condition("encoder.layers=[0,2]")
    assert some != condition()
    assert some == condition("encoder.layers=[2,0]") != condition("encoder.layers=[0,1]")
    assert condition("encoder.layers=[0,2]", "elmo.layers=2") == condition("elmo.layers=2")
    assert condition("encoder.layers=[0,1]", "elmo=last") != condition("elmo=last")


def test_the_context_counts_only_if_it_is_a_document_and_read() -> None:
    assert "encoder_context" not in identify(run_config("task=ner"), 1, DATA, "e", None)["elmo"]
    assert condition("encoder.context=sentence") == condition()
    assert condition("encoder.context=document") != condition()
    assert condition("encoder.context=document", "elmo=last") != condition("elmo=last")


def test_what_else_is_stored_does_not_matter() -> None:
    assert condition("store.layers=all") == condition("store.layers=[1]") == condition()


@pytest.mark.parametrize("override", ["elmo.lambda=0.5", "elmo.layer_norm=true"])
def test_what_a_single_layer_does_not_read_does_not_matter(override: str) -> None:
    assert condition("elmo=last", override) == condition("elmo=last")


def test_the_seed_is_not_part_of_the_condition() -> None:
    assert condition("seed=1") == condition("seed=2")


def test_paths_and_devices_are_not_part_of_the_condition() -> None:
    assert condition("paths.cache=elsewhere", "trainer.threads=1", "tracking=wandb") == condition()


@pytest.mark.parametrize(
    "override",
    [
        "elmo.lambda=0.5",
        "elmo.lambda=0",
        "elmo.where=output",
        "elmo.layers=last",
        "elmo.layers=0",
        "elmo.layer_norm=true",
        "elmo.dropout=0.1",
        "elmo.gamma=fixed",
        "words=none",
        "words.dim=10",
        "size=paper",
        "data.fraction=0.5",
        "data.limit=10",
        "limit=10",
        "debug=fast",
        "store.dtype=float32",
        "store.dtype=int8",
        "trainer.precision=bf16-mixed",
        "task.training.epochs=3",
        "task.training.optimiser.lr=0.1",
        "task.settings.head.dropout=0.1",
    ],
)
def test_whatever_changes_a_number_is_another_run(override: str) -> None:
    assert condition(override) != condition()


def test_other_data_encoder_words_or_task_version_is_another_run() -> None:
    base = condition()
    assert condition(data={**DATA, "train": "x"}) != base
    assert condition(encoder="another") != base
    assert condition(words="w") != base
    config = run_config("task=ner")
    assert condition_of(identify(config, 2, DATA, "e", None)) != base


@pytest.mark.parametrize("elmo", ["none", "paper"])
def test_what_is_regularised_is_part_of_the_condition(elmo: str) -> None:
    # with ELMo both ways compute the same; yet each has a baseline of its own, and a gain is of one way
    conditions = {
        condition_of(identify(run_config("task=snli", f"elmo={elmo}", *more), 1, DATA, "e", None))
        for more in ((), ("task.settings.head.regularise=always",))
    }
    assert len(conditions) == 2


def test_what_a_size_prescribes_is_known_by_what_a_run_has() -> None:
    assert condition("size_fraction=0.5") == condition()
    assert condition("data.fraction=0.5") != condition()


SETTINGS = {"candidates": "lemma_pos", "head": {"distance": "cosine", "nearest": "mean"}}
AS_BEFORE = {"candidates": "lemma_pos", "head": {"nearest": "mean"}}


def test_a_setting_that_older_runs_lack_counts_only_where_it_is_another_than_theirs() -> None:
    older = {"head": {"distance": "cosine"}}
    assert leave_out(SETTINGS, AS_BEFORE) == older
    assert fill_in(older, AS_BEFORE) == SETTINGS
    chosen = {**SETTINGS, "head": {"distance": "cosine", "nearest": "token"}}
    assert leave_out(chosen, AS_BEFORE) == {"head": chosen["head"]}
    assert fill_in(leave_out(chosen, AS_BEFORE), AS_BEFORE) == chosen
    config = run_config("task=wsd", "task.settings.head.nearest=token")
    assert identify(config, 1, DATA, "e", None)["task"]["settings"] == {"head": chosen["head"]}


@pytest.mark.parametrize("task", TASKS)
def test_what_older_runs_had_is_named_by_settings_that_there_are(task: str) -> None:
    config = read_task(task)
    assert fill_in(config.settings, config.as_before) == config.settings
