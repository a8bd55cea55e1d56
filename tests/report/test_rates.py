"""`choose`: dev alone decides, and what makes the choice unfair is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from elmo_bench.records import Record, write_record
from elmo_bench.report.rates import describe_rates, find_rates
from tests.report.test_encoders import A, identity
from tests.support.report_records import ELMO, EXAMPLES, NONE, make_record


def dev_run(
    seed: int, rate: float, right: int, elmo: dict[str, Any] = ELMO, more: dict[str, Any] | None = None
) -> Record:
    """A run without test scores; `more` is merged into its identity."""
    fingerprint = None if elmo == NONE else A
    made = make_record("ner", seed, right, elmo, identity=identity(fingerprint, rate, **(more or {})))
    return made.model_copy(update={"scores": {"dev": made.scores["dev"]}})


def grid(elmo: dict[str, Any], rights: dict[float, int], seeds: tuple[int, ...] = (1, 2)) -> list[Record]:
    return [dev_run(seed, rate, right, elmo) for seed in seeds for rate, right in rights.items()]


BASELINE = grid(NONE, {0.001: 20, 0.003: 22, 0.01: 19})


def test_the_highest_mean_dev_score_decides() -> None:
    (found,) = find_rates([*BASELINE, *grid(ELMO, {0.001: 30, 0.003: 28, 0.01: 27})])
    assert [one.best for one in found.tried] == [0.003, 0.001]
    assert found.is_even
    lines = describe_rates(found).splitlines()
    assert lines[0] == "ner on world (sample, size sample), dev accuracy"
    assert lines[2].split() == ["without", "ELMo", "50.00", "55.00", "47.50", "0.003"]


def test_of_two_equal_rates_the_lower_one_is_chosen() -> None:
    (found,) = find_rates(grid(NONE, {0.001: 20, 0.003: 22, 0.01: 22}))
    assert found.tried[0].best == 0.003


def test_runs_that_saw_test_data_do_not_count() -> None:
    seen = [make_record("ner", 1, 39, NONE, identity=identity(None, rate)) for rate in (0.1, 0.3)]
    (found,) = find_rates([*BASELINE, *seen])
    assert list(found.tried[0].scores) == [0.001, 0.003, 0.01]
    assert find_rates(seen) == []


def test_a_part_of_the_training_set_has_a_choice_of_its_own() -> None:
    tenth = {"source": "sample", "corpus": None, "fraction": 0.1, "limit": None}
    part = [
        dev_run(seed, rate, right, NONE, more={"data": tenth})
        for seed in (1, 2)
        for rate, right in {0.001: 8, 0.003: 6}.items()
    ]
    small, whole = find_rates([*BASELINE, *part])
    assert [one.tried[0].best for one in (whole, small)] == [0.003, 0.001]
    assert whole.title == "ner on world (sample, size sample), dev accuracy"
    assert small.title == "ner on world (sample, size sample, 10 % of the training set), dev accuracy"
    assert " elmo=none data.fraction=0.1 " in small.tried[0].command


def test_rows_that_differ_outside_elmo_have_names_and_runs_of_their_own() -> None:
    runs = [
        dev_run(seed, rate, right, more={"store": {"dtype": dtype}})
        for dtype, right in (("float16", 30), ("int8", 10))
        for seed in (1, 2)
        for rate in (0.001, 0.003)
    ]
    (found,) = find_rates(runs)
    assert sorted(found.labels) == [
        "ELMo (sample) at input, all layers, lambda 0.1, store.dtype=float16",
        "ELMo (sample) at input, all layers, lambda 0.1, store.dtype=int8",
    ]
    assert sorted(one.scores[0.001] for one in found.tried) == [25.0, 75.0]


def test_a_best_rate_at_the_end_of_the_grid_is_remarked() -> None:
    (found,) = find_rates(grid(ELMO, {0.001: 30, 0.003: 28}))
    assert found.tried[0].remarks() == [
        "the best rate is the lowest of the grid: try rates beyond 0.001",
    ]


def test_different_grids_are_not_a_fair_choice() -> None:
    (found,) = find_rates([*BASELINE, *grid(ELMO, {0.001: 30, 0.003: 28})])
    assert not found.is_even
    assert "not the same rates and seeds for all: the choice is not fair yet" in describe_rates(found)


def test_the_next_commands_report_the_chosen_rates_on_test() -> None:
    (found,) = find_rates([*BASELINE, *grid(ELMO, {0.001: 30, 0.003: 32, 0.01: 27})])
    assert [one.command for one in found.tried] == [
        "python run.py -m task=ner data=sample elmo=none task.training.optimiser.lr=0.003 seed=1,2,3",
        "python run.py -m task=ner data=sample encoder=sample task.training.optimiser.lr=0.003 seed=1,2,3",
    ]


def write_runs(directory: Path, records: list[Record]) -> None:
    for record in records:
        place = directory / record.task / f"{record.condition}-s{record.seed}"
        place.mkdir(parents=True)
        write_record(place / "result.json", record)


def test_the_command_reads_finished_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["choose", f"paths.runs={tmp_path}"]) == 3
    assert "+experiment=rates" in capsys.readouterr().err
    write_runs(tmp_path, BASELINE)
    (tmp_path / "ner" / "old-s1.1").mkdir()
    write_record(tmp_path / "ner" / "old-s1.1" / "result.json", dev_run(1, 0.03, EXAMPLES, NONE))
    assert main(["choose", f"paths.runs={tmp_path}", "--task", "ner", "--json"]) == 0
    (choice,) = json.loads(capsys.readouterr().out)
    assert (choice["task"], choice["best"], choice["fair"]) == ("ner", 0.003, True)
    assert choice["dev"] == {"0.001": 50.0, "0.003": 55.0, "0.01": 47.5}
    assert choice["seeds"]["0.003"] == [1, 2]


def test_the_command_names_a_damaged_run_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_runs(tmp_path, BASELINE)
    damaged = tmp_path / "ner" / "cut-s1" / "result.json"
    damaged.parent.mkdir()
    damaged.write_text("{")
    assert main(["choose", f"paths.runs={tmp_path}"]) == 1
    printed = capsys.readouterr()
    assert "ner on world" in printed.out
    assert str(damaged) in printed.err and "1 damaged, not among the choices" in printed.err


def test_a_task_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["choose", "--task", "nerr"]) == 2
    assert "--task nerr: there is no such task; did you mean 'ner'?" in capsys.readouterr().err
