"""Each experiment's list of jobs, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from elmo_bench.sweep.compose import open_composer
from elmo_bench.sweep.jobs import SweepConfig, list_jobs
from elmo_bench.sweep.launch import read_sweep
from elmo_bench.sweep.scripts import RUNS
from elmo_bench.types import UsageError
from tests.conftest import PROJECT
from tests.support.composition import TASKS, run_config

EXPERIMENTS = sorted(path.stem for path in (PROJECT / "conf" / "experiment").glob("*.yaml"))
SEEDS = ["seed=1", "seed=2", "seed=3"]
TASK_LISTS = {
    "table1": "squad snli srl coref ner sst5",
    "table2": "squad snli srl",
    "table3": "squad snli srl",
    "table2_gamma": "snli srl",
    "table2_ner": "ner",
    "table3_coref": "coref",
    "table5": "wsd",
    "table6": "pos",
    "table7_words": "squad snli srl",
    "table7_perplexity": "snli srl ner squad sst5",
    "figure1": "snli srl",
    "figure2": "squad snli srl coref sst5",
}
FIVE_SEEDS = {"table1": "snli ner sst5", "table2_ner": "ner"}  # as in the paper
CONDITIONS: dict[str, list[list[str]]] = {
    "table1": [["elmo=none"], ["elmo=paper"]],
    "table2": [["elmo=none"], ["elmo=last"], ["elmo=average"], ["elmo=weighted"]],
    "table3": [["elmo=input"], ["elmo=both"], ["elmo=output"]],
    "table2_gamma": [["elmo=none"], ["elmo=last"], ["elmo=last", "elmo.gamma=fixed"]],
    "table2_ner": [["elmo=none"], ["elmo=average"], ["elmo=paper"], ["elmo=weighted"]],
    "table3_coref": [["elmo=none"], ["elmo=input"], ["elmo=both"]],
    "table5": [
        ["elmo=none"],
        ["elmo.layers=0"],
        ["elmo.layers=1"],
        ["elmo.layers=2"],
        ["elmo.layers=1", "task.settings.head.nearest=token"],
        ["elmo.layers=2", "task.settings.head.nearest=token"],
        ["encoder.untrained=True", "elmo.layers=1"],
        ["encoder.untrained=True", "elmo.layers=2"],
    ],
    "table6": [
        ["elmo=none", "words=random"],
        ["elmo.layers=0"],
        ["elmo.layers=1"],
        ["elmo.layers=2"],
        ["encoder.untrained=True", "elmo.layers=1"],
        ["encoder.untrained=True", "elmo.layers=2"],
    ],
    "table7_words": [
        ["elmo=none"],
        ["elmo=first", "words=none"],
        ["elmo=paper", "words=none"],
        ["elmo=paper"],
    ],
    "table7_perplexity": [[]],
    "figure1": [
        [f"data.fraction={fraction}", "data.least=50", elmo]
        for fraction in ("0.001", "0.01", "0.1", "1")
        for elmo in ("elmo=none", "elmo=paper")
    ],
    "figure2": [["elmo=paper"]],
}


def sweep_of(
    params: Mapping[str, Any],
    conditions: Mapping[str, list[str]],
    by_task: Mapping[str, dict[str, str]] | None = None,
) -> SweepConfig:
    return SweepConfig(
        params=dict(params),
        by_task=dict(by_task or {}),
        conditions={name: tuple(words) for name, words in conditions.items()},
        primary=None,
        table=None,
    )


def jobs_of(experiment: str, *arguments: str) -> list[list[str]]:
    values = OmegaConf.to_container(OmegaConf.load(PROJECT / "conf" / "experiment" / f"{experiment}.yaml"))
    assert isinstance(values, dict)
    sweeper = values["hydra"]["sweeper"]
    return list_jobs(
        parse, sweep_of(*(sweeper.get(key, {}) for key in ("params", "conditions", "by_task"))), arguments
    )


def parse(words: Sequence[str]) -> list[Override]:
    return OverridesParser.create().parse_overrides(list(words))


@pytest.mark.parametrize("experiment", TASK_LISTS)
def test_the_jobs_of_an_experiment(experiment: str) -> None:
    seeds: list[list[str]] = [[seed] for seed in SEEDS]
    if experiment in ("table5", "table7_perplexity"):
        seeds = [["seed=1"]] if experiment == "table5" else [[]]
    more = FIVE_SEEDS.get(experiment, "").split()
    expected = [
        [*seed, f"task={task}", *condition]
        for seed in [*seeds, *([["seed=4"], ["seed=5"]] if more else [])]
        for task in TASK_LISTS[experiment].split()
        for condition in CONDITIONS[experiment]
        if seed in seeds or task in more
    ]
    assert jobs_of(experiment) == expected


@pytest.mark.parametrize("experiment", sorted(CONDITIONS.keys() - {"table7_perplexity"}))
def test_every_condition_is_a_run_of_its_own(experiment: str) -> None:
    task = next(task for task in TASK_LISTS[experiment].split() if task in TASKS)
    runs = [run_config(f"task={task}", *condition) for condition in CONDITIONS[experiment]]
    assert len({run.model_dump_json() for run in runs}) == len(runs)


def test_the_command_line_goes_before_an_experiment_of_plain_values() -> None:
    assert jobs_of("table1", "task=ner", "seed=7", "elmo=paper", "data=open") == [
        ["seed=7", "task=ner", "elmo=paper", "data=open"]
    ]
    assert len(jobs_of("table1", "task=ner,srl", "seed=1,2", "elmo.lambda=0,1")) == 2 * 2 * 2 * 2


def test_the_control_is_the_untrained_twin_of_the_encoder_under_test() -> None:
    measured, control = jobs_of("table5", "encoder=small")[1], jobs_of("table5", "encoder=small")[-1]
    assert measured == ["seed=1", "task=wsd", "encoder=small", "elmo.layers=0"]
    assert control == ["seed=1", "task=wsd", "encoder=small", "encoder.untrained=True", "elmo.layers=2"]
    names = [run_config(*job).encoder.full_name for job in (measured, control)]
    assert names == ["small", "untrained_small"]
    checked = {word for job in jobs_of("sample_check", "task=ner", "data=open") for word in job}
    assert {"encoder.untrained=False", "encoder.untrained=True"} <= checked


def test_a_condition_goes_before_the_command_line() -> None:
    sweep = sweep_of({}, {"all": ["elmo.layers=all"], "other": ["encoder=words"]})
    assert list_jobs(parse, sweep, ["encoder=small"]) == [
        ["encoder=small", "elmo.layers=all"],
        ["encoder=words"],
    ]


def test_what_all_conditions_decide_cannot_be_overridden() -> None:
    sweep = sweep_of({}, {"one": ["elmo=none"], "two": ["elmo=paper"]})
    with pytest.raises(UsageError, match=r"elmo: the conditions of this experiment decide it \(one, two\)"):
        list_jobs(parse, sweep, ["elmo=last"])


def test_a_task_may_have_values_of_its_own() -> None:
    sweep = sweep_of({"seed": "1,2", "task": "ner,srl"}, {}, {"ner": {"seed": "1,2,3"}})
    assert list_jobs(parse, sweep, ["elmo=none"]) == [
        ["seed=1", "task=ner", "elmo=none"],
        ["seed=1", "task=srl", "elmo=none"],
        ["seed=2", "task=ner", "elmo=none"],
        ["seed=2", "task=srl", "elmo=none"],
        ["seed=3", "task=ner", "elmo=none"],
    ]
    assert list_jobs(parse, sweep, ["task=srl"]) == [["seed=1", "task=srl"], ["seed=2", "task=srl"]]
    assert list_jobs(parse, sweep, ["seed=7"]) == [["seed=7", "task=ner"], ["seed=7", "task=srl"]]


@pytest.mark.parametrize(
    ("by_task", "complaint"),
    [
        ({"slr": {"seed": "1"}}, "by_task.slr: params.task has no such task; did you mean 'srl'"),
        (
            {"srl": {"data.fraction": "0.1"}},
            r"by_task.srl.data.fraction: expected a key of params \(seed, task\)",
        ),
    ],
)
def test_values_of_a_task_that_no_job_would_have_are_refused(
    by_task: dict[str, dict[str, str]], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        list_jobs(parse, sweep_of({"seed": "1,2", "task": "ner,srl"}, {}, by_task), [])


@pytest.mark.parametrize(
    ("experiment", "fractions"), [("figure1_sample", "0.2 0.5 1"), ("figure1_open", "0.01 0.03 0.1 0.25")]
)
def test_smaller_corpora_have_larger_fractions(experiment: str, fractions: str) -> None:
    words = [f"+experiment={experiment}", "task=srl", "seed=1", "elmo=none"]
    with open_composer() as composer:
        sweep = read_sweep(composer, RUNS.primary, words)
        jobs = list_jobs(composer.parse, sweep, words[1:])
    assert [word for job in jobs for word in job if "fraction" in word] == [
        f"data.fraction={fraction}" for fraction in fractions.split()
    ]
    assert all("data.least=50" in job for job in jobs)


@pytest.mark.parametrize("task", ["snli", "srl"])
def test_the_last_point_of_figure_1_is_the_training_set_of_the_other_experiments(task: str) -> None:
    words = ["+experiment=figure1_open", f"task={task}", "data=open"]
    with open_composer() as composer:
        job = list_jobs(composer.parse, read_sweep(composer, RUNS.primary, words), words[1:])[-1]
    fraction = next(word.partition("=")[2] for word in job if word.startswith("data.fraction="))
    assert float(fraction) == run_config(f"task={task}", "data=open").data.fraction


def test_jobs_that_read_the_same_are_one() -> None:
    conditions = {"all": ["elmo.layers=all"], "other": ["encoder=untrained"]}
    jobs = list_jobs(parse, sweep_of({}, conditions), ["encoder=small,tiny"])
    assert jobs == [
        ["encoder=small", "elmo.layers=all"],
        ["encoder=untrained"],
        ["encoder=tiny", "elmo.layers=all"],
    ]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_is_composed_of_a_file_that_run_py_has(experiment: str) -> None:
    words = [f"+experiment={experiment}", *(["task=ner"] if experiment == "sample_check" else [])]
    with open_composer() as composer:
        sweep = read_sweep(composer, RUNS.primary, words)
        primary = sweep.primary or RUNS.primary
        job = composer.translate(primary, list_jobs(composer.parse, sweep, words)[0])
        kind = RUNS.load(primary)
        job = kind.expand(job, lambda one: kind.read(composer.job_values(primary, one)))[0]
        values = composer.job_values(primary, job)
    assert kind.primary == primary
    assert kind.read(values).plan is False


def test_experiments_of_other_jobs_name_their_file() -> None:
    with open_composer() as composer:
        primaries = {
            name: read_sweep(composer, RUNS.primary, [f"+experiment={name}"]).primary for name in EXPERIMENTS
        }
    assert {name: primary for name, primary in primaries.items() if primary} == {
        "table4": "neighbours",
        "table7_perplexity": "finetune",
    }


def test_cove_has_the_runs_of_the_rows_that_tables_name_it_in() -> None:
    jobs = jobs_of("cove", "seed=1")
    by_task = {
        task: [job[3:] for job in jobs if job[1] == f"task={task}"] for task in ("snli", "srl", "wsd", "pos")
    }
    single = [["elmo=average", "elmo.layers=0"], ["elmo=average", "elmo.layers=1"]]
    table2 = [
        [elmo, layers]
        for elmo in ("elmo=none", "elmo=average")
        for layers in ("elmo.layers=last", "elmo.layers=all")
    ]
    assert by_task["snli"] == by_task["srl"] == table2
    assert by_task["pos"] == single
    assert by_task["wsd"][2:] == single
    assert {job[2] for job in jobs} == {"encoder=cove"}
