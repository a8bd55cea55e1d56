"""Runs from Python: read, selected, compared, executed."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from elmo_bench.report.rows import rows_of, write_runs
from elmo_bench.report.statistics import LEAST_RESAMPLES
from elmo_bench.results import Results, compare, load_results, run
from elmo_bench.types import BenchError, DataMissingError, UsageError
from tests.support.report_records import ELMO, NONE, make_record, publish

RIGHT = {"none": (20, 22, 21), "input": (27, 27, 25)}  # of 40 examples, for seeds 1 to 3


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory of results with two conditions and three seeds each."""
    for elmo in (NONE, ELMO):
        for seed, right in enumerate(RIGHT[str(elmo["where"])], start=1):
            publish(tmp_path / "records", make_record("pos", seed, right, elmo), right)
    return tmp_path


def test_results_are_a_data_frame_with_a_row_for_each_run(place: Path) -> None:
    frame = load_results(place).to_dataframe()
    assert len(frame) == 6
    means = frame.groupby("where").test.mean()
    assert means["none"] == pytest.approx(100 * 21 / 40)
    assert means["input"] == pytest.approx(100 * (27 + 27 + 25) / 3 / 40)
    assert frame.encoder.isna().sum() == 3


def test_conditions_that_a_column_does_not_tell_apart_have_their_difference_in_the_description(
    place: Path,
) -> None:
    publish(place / "records", make_record("pos", 1, 30, ELMO, identity={"store": {"dtype": "int8"}}), 30)
    rows = rows_of(one.record for one in load_results(place).where(where="input"))
    by_description = {str(row["description"]): row["condition"] for row in rows}
    assert len(by_description) == len({row["condition"] for row in rows}) == 2
    assert any(description.endswith("store.dtype=int8") for description in by_description)


def test_a_selection_is_by_column_and_an_unknown_one_is_named(place: Path) -> None:
    results = load_results(place)
    assert [one.seed for one in results.where(where="input", seed=2)] == [2]
    with pytest.raises(UsageError, match=r"colour: expected a column, one of task, source"):
        results.where(colour="red")


def test_damaged_records_are_named_and_the_others_are_read(place: Path) -> None:
    damaged = next((place / "records" / "pos").glob("*.json"))
    damaged.write_text("{")
    results = load_results(place)
    assert len(results) == 5
    assert any(damaged.name in problem for problem in results.problems)


def test_a_missing_directory_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="expected a directory with records/ or runs/"):
        load_results(tmp_path / "nowhere")


def test_runs_are_compared_by_seed(place: Path) -> None:
    results = load_results(place)
    found = compare(results.where(where="none"), results.where(where="input"), resamples=200)
    assert found.seeds == (1, 2, 3)
    assert found.differences == pytest.approx((17.5, 12.5, 10.0))
    single = compare(results.where(where="none")[0], results.where(where="input")[0], resamples=200)
    assert single.gain == pytest.approx(17.5)


def test_a_side_is_one_condition(place: Path) -> None:
    with pytest.raises(UsageError, match="got 2 conditions"):
        compare(load_results(place), load_results(place))


def test_all_rows_have_the_same_columns_as_the_csv(place: Path) -> None:
    records = [one.record for one in load_results(place)]
    lines = list(csv.DictReader(io.StringIO(write_runs(records))))
    assert [list(row) for row in rows_of(records)] == [list(line) for line in lines]
    assert [float(line["test"]) for line in lines] == [row["test"] for row in rows_of(records)]
    assert write_runs([]) == "\n"


def test_a_run_is_executed_once_and_then_read(tmp_path: Path) -> None:
    words = ["task=ner", "elmo=none", "debug=fast", f"paths.runs={tmp_path / 'runs'}"]
    first = run(*words)
    assert first.record.task == "ner"
    assert run(*words).record == first.record
    assert load_results(tmp_path) == Results((first,))


def test_errors_are_those_of_the_command_line() -> None:
    with pytest.raises(BenchError, match="colour"):
        run("task=ner", "colour=red")
    with pytest.raises(UsageError, match="the command line prints plans"):
        run("task=ner", "plan=true")
    with pytest.raises(UsageError, match="expected KEY=VALUE"):
        run("-m", "task=ner")
    with pytest.raises(UsageError, match="task=ner task=srl: expected one of them"):
        run("task=ner", "task=srl")
    with pytest.raises(UsageError, match="seed=1,2: expected one value, got a sweep"):
        run("task=ner", "seed=1,2")
    with pytest.raises(UsageError, match=r"expected words as strings.*got \['task=ner'\].*run\(\*words\)"):
        run(["task=ner"])  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [0, -1, 99, 1e3])
def test_a_number_of_resamples_without_an_interval_is_refused(place: Path, number: int) -> None:
    results = load_results(place)
    with pytest.raises(
        UsageError,
        match=rf"^resamples={number}: expected a whole number, at least {LEAST_RESAMPLES}",
    ):
        compare(results.where(where="none"), results.where(where="input"), resamples=number)
