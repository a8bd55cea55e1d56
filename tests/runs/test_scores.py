"""The score of published runs, whatever settings their tasks have been given since."""

from __future__ import annotations

from elmo_bench.records import read_records
from elmo_bench.runs.scores import find_scores
from tests.conftest import PROJECT


def test_every_published_task_has_a_score() -> None:
    records = [record for _, record in read_records(PROJECT / "results" / "records")]
    scores, problems = find_scores(records)
    assert problems == []
    assert scores.keys() == {record.task for record in records}
