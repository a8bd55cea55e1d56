"""The typed configuration: what it accepts, and how it refuses."""

from __future__ import annotations

import pytest

from elmo_bench.config import RunConfig, read_config
from elmo_bench.types import UsageError
from tests.support.composition import TASKS, compose


@pytest.mark.parametrize("task", TASKS)
def test_baseline_and_elmo_differ_in_elmo_alone(task: str) -> None:
    with_elmo, without = compose(f"task={task}"), compose(f"task={task}", "elmo=none")
    assert with_elmo.pop("elmo") != without.pop("elmo")
    assert with_elmo == without


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("data", ["sample", "open", "paper"])
def test_every_task_composes_for_every_source(task: str, data: str) -> None:
    config = read_config(RunConfig, compose(f"task={task}", f"data={data}"))
    assert data in config.task.sources


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("elmo.lambda=-1", "elmo.lambda: input should be greater than or equal to 0, got -1"),
        ("elmo.lambda=abc", "elmo.lambda: input should be a valid number"),
        ("elmo.lambda=nan", "elmo.lambda: input should be a finite number"),
        ("elmo.where=inside", "elmo.where: input should be 'none', 'input', 'output' or 'both'"),
        ("elmo.dropout=1.0", "elmo.dropout: input should be less than 1"),
        (
            "elmo.layers=foo",
            "elmo.layers: input should be 'all' or 'last', or input should be a valid integer, unable to "
            "parse string as an integer, got 'foo'",
        ),
        (
            "store.layers=some",
            "store.layers: input should be 'read' or 'all', or input should be a valid tuple",
        ),
        ("seed=-1", "seed: input should be greater than or equal to 0"),
        ("data.fraction=0", "data.fraction: input should be greater than 0"),
        ("paths.runs=", "paths.runs: expected a directory (. is the current one; is a variable of the shell"),
        ("limit=0", "limit: input should be greater than or equal to 1"),
        ("+elmo.lamda=1", "elmo.lamda: there is no such key"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(override: str, complaint: str) -> None:
    with pytest.raises(UsageError) as refusal:
        read_config(RunConfig, compose("task=ner", override))
    assert complaint in str(refusal.value)


def test_lambda_is_read_from_its_own_name() -> None:
    assert read_config(RunConfig, compose("task=ner", "elmo.lambda=0.25")).elmo.lam == 0.25
