"""Each experiment's list of jobs, exactly."""

from __future__ import annotations

from typing import Any

import hydra
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from elmo_bench.sweep.experiments import FINETUNINGS, NEIGHBOURS, RUNS, find_entry
from elmo_bench.sweep.overrides import list_jobs, read_params, split_sweep
from elmo_bench.types import UsageError
from tests.conftest import PROJECT
from tests.support.composition import TASKS, compose, run_config

EXPERIMENTS = sorted(path.stem for path in (PROJECT / "conf" / "experiment").glob("*.yaml"))
SEEDS = ["seed=1", "seed=2", "seed=3"]
TASK_LISTS = {
    "table1": "squad snli srl coref ner sst5",
    "table2": "squad snli srl",
    "table3": "squad snli srl",
    "table5": "wsd",
    "table6": "pos",
    "table7_words": "squad snli srl",
    "table7_perplexity": "snli srl ner squad sst5",
    "figure1": "snli srl",
    "figure2": "squad snli srl coref sst5",
}
CONDITIONS: dict[str, list[list[str]]] = {
    "table1": [["elmo=none"], ["elmo=paper"]],
    "table2": [["elmo=none"], ["elmo=last"], ["elmo=average"], ["elmo=weighted"]],
    "table3": [["elmo=input"], ["elmo=both"], ["elmo=output"]],
    "table5": [
        ["elmo=none"],
        ["elmo.layers=0"],
        ["elmo.layers=1"],
        ["elmo.layers=2"],
        ["encoder=untrained", "elmo.layers=1"],
        ["encoder=untrained", "elmo.layers=2"],
    ],
    "table6": [
        ["elmo=none", "words=random"],
        ["elmo.layers=0"],
        ["elmo.layers=1"],
        ["elmo.layers=2"],
        ["encoder=untrained", "elmo.layers=1"],
        ["encoder=untrained", "elmo.layers=2"],
    ],
    "table7_words": [
        ["elmo=none"],
        ["elmo=first", "words=none"],
        ["elmo=paper", "words=none"],
        ["elmo=paper"],
    ],
    "table7_perplexity": [[]],
    "figure1": [
        [f"data.fraction={fraction}", elmo]
        for fraction in ("0.001", "0.01", "0.1", "1")
        for elmo in ("elmo=none", "elmo=paper")
    ],
    "figure2": [["elmo=paper"]],
}


def sweeper(experiment: str) -> dict[str, Any]:
    path = PROJECT / "conf" / "experiment" / f"{experiment}.yaml"
    values = OmegaConf.to_container(OmegaConf.load(path))
    assert isinstance(values, dict)
    return dict(values["hydra"]["sweeper"])


def jobs_of(experiment: str, *arguments: str) -> list[list[str]]:
    values = sweeper(experiment)
    parse = OverridesParser.create().parse_overrides
    return list_jobs(parse, values.get("params", {}), values.get("conditions", {}), arguments)


@pytest.mark.parametrize("experiment", TASK_LISTS)
def test_the_jobs_of_an_experiment(experiment: str) -> None:
    seeds: list[list[str]] = [[seed] for seed in SEEDS]
    if experiment in ("table5", "table7_perplexity"):
        seeds = [["seed=1"]] if experiment == "table5" else [[]]
    expected = [
        [*seed, f"task={task}", *condition]
        for seed in seeds
        for task in TASK_LISTS[experiment].split()
        for condition in CONDITIONS[experiment]
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


def test_a_control_keeps_its_own_encoder() -> None:
    assert jobs_of("table5", "encoder=small")[1] == ["seed=1", "task=wsd", "encoder=small", "elmo.layers=0"]
    assert jobs_of("table5", "encoder=small")[-1] == [
        "seed=1",
        "task=wsd",
        "encoder=untrained",
        "elmo.layers=2",
    ]


def test_what_all_conditions_decide_cannot_be_overridden() -> None:
    parse = OverridesParser.create().parse_overrides
    with pytest.raises(UsageError, match=r"elmo: the conditions of this experiment decide it \(one, two\)"):
        list_jobs(parse, {}, {"one": ["elmo=none"], "two": ["elmo=paper"]}, ["elmo=last"])


def test_jobs_that_read_the_same_are_one() -> None:
    parse = OverridesParser.create().parse_overrides
    conditions = {"all": ["elmo.layers=all"], "other": ["encoder=untrained"]}
    jobs = list_jobs(parse, {}, conditions, ["encoder=small,tiny"])
    assert jobs == [
        ["encoder=small", "elmo.layers=all"],
        ["encoder=untrained"],
        ["encoder=tiny", "elmo.layers=all"],
    ]


def test_hydra_is_given_the_first_choice_of_each() -> None:
    arguments = ["-m", "+experiment=table2", "hydra/launcher=joblib", "seed=5,6", "elmo.lambda=0,1", "~debug"]
    of_jobs, first = split_sweep(arguments, read_params(arguments))
    assert of_jobs == ["+experiment=table2", "seed=5,6", "elmo.lambda=0,1", "~debug"]
    assert first[:2] == ["-m", "hydra/launcher=joblib"]
    assert first[2:] == ["seed=5", "task=squad", "elmo=none", "+experiment=table2", "elmo.lambda=0", "~debug"]


def test_an_experiment_says_what_its_jobs_are() -> None:
    assert find_entry(["-m", "+experiment=table7_perplexity"]) is FINETUNINGS
    assert find_entry(["-m", "+experiment=table4"]) is NEIGHBOURS
    assert find_entry(["-m", "+experiment=table1"]) is RUNS
    assert find_entry(["task=ner"]) is RUNS
    assert find_entry(["+experiment=nosuch"]) is RUNS


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_composes_as_hydra_has_it(experiment: str) -> None:
    entry = find_entry([f"+experiment={experiment}"])
    words = [f"+experiment={experiment}"]
    task = [] if experiment == "table4" else ["task=ner"]
    assert "hydra" not in compose(*words, *task, entry=entry.name)
    with hydra.initialize_config_dir(str(PROJECT / "conf"), version_base=None):
        composed = hydra.compose(entry.name, [*words, *task], return_hydra_config=True)
    assert composed.hydra.sweeper.entry == entry.name
    assert composed.hydra.sweeper.params
