"""Cases and confusions from answers, and what the page shows of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from elmo_bench.catalog import list_tables, list_tasks, read_task
from elmo_bench.report.assembly import assemble
from elmo_bench.report.comparison import Referee, Run
from elmo_bench.report.detail_pages import write_details
from elmo_bench.report.examples import OTHERS, Answered, Answers, Confusion, count_confusion, find_cases
from elmo_bench.report.inputs import ReportInputs, describe_tasks
from elmo_bench.report.published import read_published
from tests.support.report_records import ELMO, NONE, make_record, publish


def answered(name: str, gold: dict[str, str], answers: dict[str, str]) -> Answered:
    return Answered(name, (f"text of {name}",), gold, answers)


def test_a_case_has_only_what_one_run_has_right_and_the_other_wrong() -> None:
    gold = {"both right": "A", "only first": "A", "both wrong": "A", "only second": "A"}
    first = answered("x", gold, {**gold, "both wrong": "B", "only second": "B"})
    second = answered("x", gold, {**gold, "both wrong": "C", "only first": "B", "too much": "D"})
    (case,) = find_cases([first], [second])
    assert [(one.asked, one.gold, one.wrong) for one in case.differences] == [
        ("only first", "A", "B"), ("too much", "–", "D"),
    ]  # fmt: skip
    (reverse,) = find_cases([second], [first])
    assert [one.asked for one in reverse.differences] == ["only second"]
    assert find_cases([first], [first]) == []


def test_a_confusion_counts_gold_against_answers_and_what_is_missing() -> None:
    rows = [
        answered("x", {"1": "PER", "2": "LOC"}, {"1": "PER", "2": "PER"}),
        answered("y", {"1": "PER"}, {"2": "PER"}),
    ]
    found = count_confusion(rows)
    assert found == Confusion(("PER", "–", "LOC"), ((1, 1, 0), (1, 0, 0), (1, 0, 0)))


def test_rare_labels_are_counted_together() -> None:
    rows = [answered(str(n), {"1": f"L{n % 20:02}"}, {"1": f"L{n % 20:02}"}) for n in range(50)]
    found = count_confusion(rows)
    assert (len(found.labels), found.labels[-1]) == (13, OTHERS)
    assert sum(map(sum, found.rows)) == 50


@pytest.mark.parametrize(("source", "corpus"), [("sample", "world"), ("open", "wikigold")])
def test_the_page_shows_the_text_of_the_generated_world_alone(
    tmp_path: Path, source: str, corpus: str
) -> None:
    for elmo, right in ((NONE, 20), (ELMO, 30)):
        publish(tmp_path, make_record("ner", 1, right, elmo, source=source, corpus=corpus), right)
    published = read_published(tmp_path)
    runs = tuple(replace(run, predictions=run.counts) for run in published.runs)

    def answers(run: Run) -> Answers:
        gold = {"secret [1]": "PER"}
        said = gold if run.record.encoder else {"secret [1]": "LOC"}
        return Answers((answered("test-7", gold, said),), are_labels=True)

    records = [run.record for run in published.runs]
    tasks, _ = describe_tasks({name: read_task(name) for name in list_tasks()}, list_tables(), records)
    inputs = ReportInputs(replace(published, runs=runs), Referee({}), list_tables(), tasks)
    inputs.answers = answers
    report = assemble(inputs)
    (pair,) = report.details.pairs
    assert pair.examples is not None
    assert (len(pair.examples.after), len(pair.examples.before)) == (1, 0)
    assert report.details.conditions[0].confusion is not None
    page = "".join(content for _, content in write_details(report))
    assert ("text of test-7" in page, "secret" in page) == (source == "sample", source == "sample")
    assert ("The text is not ours to show; the ids: test-7" in page) == (source != "sample")


def test_the_page_says_plainly_that_predictions_are_not_at_hand(tmp_path: Path) -> None:
    for elmo, right in ((NONE, 20), (ELMO, 30)):
        publish(tmp_path, make_record("ner", 1, right, elmo), right)
    tasks, _ = describe_tasks({name: read_task(name) for name in list_tasks()}, list_tables(), [])
    report = assemble(ReportInputs(read_published(tmp_path), Referee({}), list_tables(), tasks))
    pages = "".join(content for _, content in write_details(report))
    assert pages.count("No examples: these runs' predictions are not at hand.") == 1
