"""The small table after a sweep: a gain is over the runs that differ in ELMo alone."""

from __future__ import annotations

from typing import Any

from elmo_bench.records import Record
from elmo_bench.report.summary import summarise
from tests.support.report_records import ELMO, NONE, make_record


def runs(rights: tuple[int, int], elmo: dict[str, Any], **identity: Any) -> list[Record]:
    """Two seeds of a condition, so many of their 40 examples right."""
    return [
        make_record("snli", seed, right, elmo, identity=identity)
        for seed, right in enumerate(rights, start=1)
    ]


def line_with(table: str, *parts: str) -> str:
    (line,) = [line for line in table.splitlines() if all(part in line for part in parts)]
    return line


def test_a_gain_is_over_the_baseline_of_the_same_share_of_the_data() -> None:
    tenth = {"data": {"source": "sample", "corpus": None, "fraction": 0.1, "limit": None}}
    small = [*runs((8, 8), NONE, **tenth), *runs((12, 12), ELMO, **tenth)]
    table = summarise([*small, *runs((20, 20), NONE), *runs((30, 30), ELMO)])
    assert "gain +25.00" in line_with(table, "ELMo (sample)", "75.00")
    assert "gain +10.00" in line_with(table, "ELMo (sample)", ", 10 % of the training data")
    assert "gain" not in line_with(table, "without ELMo, 10 % of the training data")
    assert len({line.index("dev") for line in table.splitlines()[1:]}) == 1


def test_a_gain_is_over_the_baseline_with_the_same_words() -> None:
    no_words = {"words": {"kind": "none"}}
    empty, words = runs((4, 4), NONE, **no_words), runs((20, 20), NONE)
    probe = runs((30, 30), ELMO, **no_words)
    table = summarise([*empty, *words, *probe])
    assert "gain +65.00" in line_with(table, "ELMo (sample)", ", no words")
    assert "gain" not in line_with(table, "without ELMo", "50.00")
    # a probe that reads ELMo alone is compared with words alone where nothing else is there
    assert "gain +25.00" in line_with(summarise([*words, *probe]), "ELMo (sample)", ", no words")


def test_runs_with_other_training_settings_are_not_paired() -> None:
    longer = {"task": {"name": "snli", "training": {"epochs": 30}}}
    table = summarise([*runs((20, 20), NONE), *runs((34, 34), NONE, **longer), *runs((30, 30), ELMO)])
    assert "gain +25.00" in line_with(table, "ELMo (sample)")
    alone = summarise([*runs((34, 34), NONE, **longer), *runs((30, 30), ELMO)])
    assert "gain" not in alone


def test_runs_of_another_task_version_are_not_paired() -> None:
    table = summarise([*runs((20, 20), NONE, task_version=2), *runs((30, 30), ELMO)])
    assert "gain" not in table


def test_a_line_with_a_run_at_its_cap_is_marked_and_so_is_a_gain_over_it() -> None:
    capped = make_record("snli", 1, 20, NONE, stopped="cap")
    done = make_record("snli", 2, 20, NONE, stopped="patience")
    table = summarise([capped, done, *runs((30, 30), ELMO, words={"kind": "random", "dim": 50})])
    assert line_with(table, "without ELMo").endswith("not converged (1 of 2)")
    assert line_with(table, "ELMo (sample)").endswith("not converged (1 of 4)")
    assert "not converged" not in summarise(runs((20, 20), NONE))


def test_a_line_says_when_the_baselines_best_was_passed() -> None:
    table = summarise([*runs((20, 20), NONE), *runs((30, 30), ELMO)])
    # curves are 0.3, 0.6, 0.8 of their best, and 0.8 of 75 is above 50; ten updates are an epoch
    assert "passes at update 30 (baseline's best: 50)" in line_with(table, "ELMo (sample)")
    behind = summarise([*runs((20, 20), NONE), *runs((30, 10), ELMO)])
    assert "passes at update 30, never in 1 of 2 (baseline's best: 50)" in line_with(behind, "ELMo (sample)")


def test_two_seeds_have_a_gain_without_an_interval() -> None:
    table = summarise([*runs((20, 22), NONE), *runs((30, 31), ELMO)])
    assert "gain +23.75  passes" in line_with(table, "ELMo (sample)")
