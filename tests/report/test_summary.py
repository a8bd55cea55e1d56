"""The small table after a sweep: a gain is over the runs that differ in ELMo alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from elmo_bench.metrics.accuracy import score_accuracy
from elmo_bench.records import Record
from elmo_bench.report.cells import LEGEND
from elmo_bench.report.comparison import Referee
from elmo_bench.report.summary import summarise
from tests.support.report_records import ELMO, NONE, make_record, publish, summarise_records


def runs(rights: tuple[int, ...], elmo: dict[str, Any], **identity: Any) -> list[Record]:
    """The seeds of a condition, so many of their 40 examples right."""
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
    table = summarise_records([*small, *runs((20, 20), NONE), *runs((30, 30), ELMO)])
    assert "gain +25.00" in line_with(table, "ELMo (sample)", "75.00")
    assert "gain +10.00" in line_with(table, "ELMo (sample)", ", 10 % of the training set")
    assert "gain" not in line_with(table, "without ELMo, 10 % of the training set")
    assert len({line.index("dev") for line in table.splitlines()[1:]}) == 1


def test_a_gain_is_over_the_baseline_with_the_same_words() -> None:
    no_words = {"words": {"kind": "none"}}
    empty, words = runs((4, 4), NONE, **no_words), runs((20, 20), NONE)
    probe = runs((30, 30), ELMO, **no_words)
    table = summarise_records([*empty, *words, *probe])
    assert "gain +65.00" in line_with(table, "ELMo (sample)", ", no words")
    assert "gain" not in line_with(table, "without ELMo", "50.00")
    # a probe that reads ELMo alone is compared with words alone where nothing else is there
    assert "gain +25.00" in line_with(summarise_records([*words, *probe]), "ELMo (sample)", ", no words")


def test_runs_with_other_training_settings_are_not_paired() -> None:
    longer = {"task": {"name": "snli", "training": {"epochs": 30}}}
    table = summarise_records([*runs((20, 20), NONE), *runs((34, 34), NONE, **longer), *runs((30, 30), ELMO)])
    assert "gain +25.00" in line_with(table, "ELMo (sample)")
    alone = summarise_records([*runs((34, 34), NONE, **longer), *runs((30, 30), ELMO)])
    assert "gain" not in alone


def test_conditions_that_differ_in_a_setting_have_different_names() -> None:
    tokens = {"task": {"name": "snli", "settings": {"head": {"nearest": "token"}}}}
    table = summarise_records([*runs((20, 20), ELMO), *runs((30, 30), ELMO, **tokens)])
    assert "75.00" in line_with(table, "head.nearest=token")
    assert "50.00" in line_with(table, "ELMo (sample) at input", "n=2", "50.00")


def test_conditions_that_no_words_tell_apart_have_the_keys_in_which_they_differ() -> None:
    last = {**ELMO, "layers": "last"}
    table = summarise_records([*runs((20, 20), last), *runs((30, 30), {**last, "gamma": "fixed"})])
    assert "75.00" in line_with(table, "ELMo (sample) at input, last layer, elmo.gamma=fixed")
    assert "50.00" in line_with(table, "ELMo (sample) at input, last layer, elmo.gamma=learned")
    versions = summarise_records([*runs((20, 20), NONE), *runs((30, 30), NONE, numerics=2)])
    assert "75.00" in line_with(versions, "without ELMo, numerics=2")


def test_runs_of_another_task_version_are_not_paired() -> None:
    table = summarise_records([*runs((20, 20), NONE, task_version=2), *runs((30, 30), ELMO)])
    assert "gain" not in table


def test_a_line_with_a_run_at_its_cap_is_marked_and_so_is_a_gain_over_it() -> None:
    capped = make_record("snli", 1, 20, NONE, stopped="cap")
    done = make_record("snli", 2, 20, NONE, stopped="patience")
    table = summarise_records([capped, done, *runs((30, 30), ELMO, words={"kind": "random", "dim": 50})])
    assert line_with(table, "without ELMo").endswith("not converged (1 of 2)")
    assert line_with(table, "ELMo (sample)").endswith("not converged (1 of 4)")
    assert "not converged" not in summarise_records(runs((20, 20), NONE))


def test_a_gain_says_how_many_seeds_it_is_over_and_needs_no_other_run_of_the_baseline() -> None:
    capped = make_record("snli", 9, 20, NONE, stopped="cap")
    table = summarise_records([*runs((20, 20), NONE), capped, *runs((30, 30, 36), ELMO)])
    line = line_with(table, "ELMo (sample)")
    assert "n=3  gain +25.00 over 2 of 3 seeds  passes" in line
    assert "not converged" not in line
    assert "over" not in line_with(summarise_records([*runs((20, 20), NONE), *runs((30, 30), ELMO)]), "gain")


def test_a_line_says_when_the_baselines_best_was_passed() -> None:
    table = summarise_records([*runs((20, 20), NONE), *runs((30, 30), ELMO)])
    # curves are 0.3, 0.6, 0.8 of their best, and 0.8 of 75 is above 50; ten updates are an epoch
    assert "passes at update 30 (baseline's best: 50)" in line_with(table, "ELMo (sample)")
    behind = summarise_records([*runs((20, 20), NONE), *runs((30, 10), ELMO)])
    assert "passes at update 30, never in 1 of 2 (baseline's best: 50)" in line_with(behind, "ELMo (sample)")


def test_a_gain_of_runs_without_counts_has_no_interval() -> None:
    table = summarise_records([*runs((20, 22), NONE), *runs((30, 31), ELMO)])
    assert "gain +23.75  passes" in line_with(table, "ELMo (sample)")
    assert LEGEND not in summarise_records(runs((20, 22), NONE))


def test_an_interval_says_what_it_is_over(tmp_path: Path) -> None:
    for seeds, word in ((2, " (examples)"), (3, "")):
        found = [
            publish(tmp_path / str(seeds), make_record("snli", seed, right + seed, elmo), right + seed)
            for elmo, right in ((NONE, 20), (ELMO, 30))
            for seed in range(1, seeds + 1)
        ]
        table = summarise(found, Referee({"snli": score_accuracy}, 200))
        said = re.search(r"gain \+25\.00 \[\+\d+\.\d\d, \+\d+\.\d\d\](.*?)  passes", table)
        assert said and said[1] == word
        assert table.endswith(f"\n\n{LEGEND}")
