"""The score of published runs, whatever settings their tasks have been given since."""

from __future__ import annotations

import pytest

from elmo_bench.catalog import read_task
from elmo_bench.plugins import find_score, load_task
from elmo_bench.records import read_counts
from elmo_bench.report.published import read_published
from elmo_bench.runs.scores import find_scores
from elmo_bench.types import UsageError
from tests.conftest import PROJECT
from tests.support.composition import TASKS


def test_every_published_task_has_a_score() -> None:
    records = [run.record for run in read_published(PROJECT / "results" / "records").runs]
    scores, problems = find_scores(records)
    assert problems == []
    assert scores.keys() == {record.task for record in records}


@pytest.mark.parametrize("task", TASKS)
def test_the_score_that_conf_names_is_that_of_the_plug_in(task: str) -> None:
    """On the counts of a published run, of which some answers are wrong."""
    config = read_task(task)
    assert config.score, "conf names no function, so compare would import PyTorch"
    runs = read_published(PROJECT / "results" / "records").runs
    table = read_counts(next(run.counts for run in runs if run.record.task == task))["test"]
    counts = list(table.rows())
    score = find_score(config)(counts)
    assert score == load_task(config).score(counts)
    assert 0 < score[load_task(config).metric] < 100


def test_a_task_without_a_named_score_has_that_of_its_plug_in() -> None:
    counts = [{"correct": 1.0, "answers": 4.0}]
    assert find_score(read_task("pos").model_copy(update={"score": ""}))(counts) == {"accuracy": 25.0}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("elmo_bench.metrics.accuracy.score_precision", "cannot be loaded .*score_precision"),
        ("elmo_bench.metrics.senses.annotations", "expected a function of counts"),
    ],
)
def test_a_path_that_leads_to_no_score_is_refused(path: str, message: str) -> None:
    config = read_task("pos").model_copy(update={"score": path})
    with pytest.raises(UsageError, match=rf"^task\.score={path}: {message}"):
        find_score(config)
