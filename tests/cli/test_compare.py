"""`compare`: what a person may name, what is printed, and what cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from elmo_bench.hashing import hash_file
from elmo_bench.records import Record, write_counts, write_record
from tests.support.report_records import ELMO, EXAMPLES, NONE, make_record, publish, rows

PLUGIN = "elmo_bench.tasks.pos.PosTask"  # scores the accuracy that these counts are of


def record(seed: int, right: int, elmo: dict[str, Any], **changes: Any) -> Record:
    made = make_record("pos", seed, right, elmo, **changes)
    training = {"optimiser": {"name": "adam", "lr": 0.1}, "clip": {"by": "none"}}
    training |= {"batch_size": 1, "epochs": 1, "patience": 1}
    task = {
        **made.config["task"],
        "plugin": PLUGIN,
        "settings": {"tags": "xpos"},
        "training": training,
        "sources": {},
    }
    return made.model_copy(update={"config": {"task": task}})


@pytest.fixture
def groups(tmp_path: Path) -> tuple[Path, Path]:
    """The beginnings of two conditions with three seeds each."""
    names = []
    for elmo, numbers in ((NONE, (20, 22, 21)), (ELMO, (27, 27, 25))):
        for seed, right in enumerate(numbers, start=1):
            run = publish(tmp_path, record(seed, right, elmo), right)
        names.append(tmp_path / "pos" / run.record.condition[:8])
    return names[0], names[1]


def compare(capsys: Any, *words: object) -> tuple[int, str, str]:
    code = main(
        ["compare", *map(str, words), *(["--resamples", "100"] if "--resamples" not in words else [])]
    )
    said = capsys.readouterr()
    return code, said.out, said.err


def test_groups_are_paired_by_seed(groups: tuple[Path, Path], capsys: Any) -> None:
    code, out, _ = compare(capsys, *groups)
    assert code == 0
    assert "       1    50.00    67.50   +17.50" in out
    assert "gain +13.33, 28.1 % of A's error" in out
    assert "sign-flip p 0.250" in out
    assert "only A right 0, only B right 7, p 0.016" in out
    assert "differs: elmo.where none / input" in out


def test_json_holds_all_digits(groups: tuple[Path, Path], capsys: Any) -> None:
    code, out, _ = compare(capsys, *groups, "--json")
    content = json.loads(out)
    assert code == 0
    assert content["gain"] == pytest.approx(40 / 3)
    assert content["seeds"] == [1, 2, 3]
    assert content["sign_flip"] == 0.25
    assert [test["only_second"] for test in content["answers"]] == [7, 5, 4]
    assert content["mcnemar"] == pytest.approx(2 * 0.0625)
    assert content["over_examples"]["low"] <= content["gain"] <= content["over_examples"]["high"]
    assert content["warnings"] == []


def test_a_run_directory_and_a_record_file_are_runs(
    groups: tuple[Path, Path], tmp_path: Path, capsys: Any
) -> None:
    published = Path(f"{next(groups[1].parent.glob(groups[1].name + '*-s1.json'))}")
    directory = tmp_path / "runs" / "0123-s7"
    own = record(7, 30, NONE)
    write_counts(directory / "counts.npz", {"dev": rows(30), "test": rows(30)})
    hashes = {**own.hashes, "counts.npz": hash_file(directory / "counts.npz")}
    write_record(directory / "result.json", own.model_copy(update={"hashes": hashes}))
    code, out, _ = compare(capsys, published, directory)
    assert code == 0  # two single runs are a pair whatever their seeds
    assert "   1 / 7    67.50    75.00    +7.50" in out
    assert "over seeds     no interval: it needs 3 seeds, there are 1" in out


def test_seeds_of_runs_without_chance_are_no_evidence(tmp_path: Path, capsys: Any) -> None:
    for elmo, right in ((NONE, 20), (ELMO, 30)):
        for seed in (1, 2, 3):
            run = publish(tmp_path / str(right), record(seed, right, elmo, stopped="one pass"), right)
    code, out, _ = compare(capsys, tmp_path / "20" / "pos", run.counts.parent)
    assert code == 0
    assert "(bootstrap over examples)" in out
    assert "over seeds     no interval: both sides are fitted in one pass without chance" in out
    assert "power          unknown: both sides are fitted in one pass without chance" in out
    assert "sign-flip" not in out
    _, out, _ = compare(capsys, tmp_path / "20" / "pos", run.counts.parent, "--json")
    assert json.loads(out)["power"] is None


def test_a_run_that_was_set_aside_is_not_compared(
    groups: tuple[Path, Path], tmp_path: Path, capsys: Any
) -> None:
    condition = record(1, 10, ELMO).condition
    for name, right in ((f"{condition}-s1", 30), (f"{condition}-s1.1", 10)):
        directory = tmp_path / "runs" / "pos" / name
        write_counts(directory / "counts.npz", {"dev": rows(right), "test": rows(right)})
        made = record(1, right, ELMO)
        hashes = {**made.hashes, "counts.npz": hash_file(directory / "counts.npz")}
        write_record(directory / "result.json", made.model_copy(update={"hashes": hashes}))
    for place in (directory.parent, directory.with_name(condition[:8])):
        code, out, _ = compare(capsys, groups[0], place)
        assert code == 0
        assert "       1    50.00    75.00   +25.00" in out


@pytest.mark.parametrize("gain", ["nan", "inf", "much", "0", "-5"])
def test_a_gain_that_is_no_number_is_refused(gain: str, groups: tuple[Path, Path], capsys: Any) -> None:
    with pytest.raises(SystemExit, match="2"):
        compare(capsys, *groups, f"--gain={gain}")
    assert f"--gain: expected a finite number of points above 0, got {gain}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"task_version": 2}, "task_version is 1 in A and 2 in B"),
        ({"metric": "f1"}, "metric is accuracy in A and f1 in B"),
        (
            {"hashes": {"data/test": "8" * 64}, "corpus": "other"},
            "world (sample, sha256 777777777777) in A and other (sample, sha256 888888888888) in B",
        ),
        ({"examples": {"test": 3}}, f"measured on {EXAMPLES} test examples and B on 3"),
    ],
)
def test_what_differs_is_named(
    changes: dict[str, Any], difference: str, groups: tuple[Path, Path], tmp_path: Path, capsys: Any
) -> None:
    run = publish(tmp_path / "other", record(1, 20, ELMO, **changes), 20)
    code, _, error = compare(capsys, groups[0], run.counts.with_suffix(".json"))
    assert code == 2
    assert difference in error


def test_two_conditions_are_not_one_side(groups: tuple[Path, Path], capsys: Any) -> None:
    code, _, error = compare(capsys, groups[0].parent, groups[1])
    assert code == 2
    assert "expected the runs of one condition, got 2" in error


def test_no_shared_seed_is_an_error(groups: tuple[Path, Path], tmp_path: Path, capsys: Any) -> None:
    for seed in (8, 9):
        run = publish(tmp_path / "other", record(seed, 20, ELMO), 20)
    code, _, error = compare(capsys, groups[0], run.counts.parent)
    assert code == 2
    assert "A has the seeds 1, 2, 3 and B 8, 9" in error


def test_nothing_there_and_unknown_metrics_say_what_to_do(groups: tuple[Path, Path], capsys: Any) -> None:
    code, _, error = compare(capsys, groups[0], groups[0].with_name("zzz"))
    assert (code, "expected a run directory" in error) == (3, True)
    code, _, error = compare(capsys, *groups, "--metric", "f1")
    assert (code, "one of accuracy" in error) == (2, True)
    code, _, error = compare(capsys, *groups, "--resamples", "5")
    assert (code, "at least 100" in error) == (2, True)


def test_the_main_test_is_over_seeds_and_examples_and_power_says_how_many_seeds_a_gain_needs(
    groups: tuple[Path, Path], capsys: Any
) -> None:
    _, out, _ = compare(capsys, *groups)
    assert "(bootstrap over seeds and examples)" in out
    assert "power          3 seeds show a gain of 12.46 with 80 % power; a gain of 13.33 needs 3 seeds" in out
    assert "not converged" not in out
    _, out, _ = compare(capsys, *groups, "--json")
    content = json.loads(out)
    assert content["main"]["basis"] == "seeds and examples"
    assert content["main"]["low"] <= content["gain"] <= content["main"]["high"]
    assert content["power"]["detectable_gain"] == pytest.approx(12.46, abs=0.01)
    assert (content["power"]["gain"], content["power"]["seeds_for_gain"]) == (content["gain"], 3)
    assert content["capped"] == 0
    _, out, _ = compare(capsys, *groups, "--gain", "5")
    assert "a gain of 5.00 needs 7 seeds" in out
    _, out, _ = compare(capsys, *groups, "--gain", "5", "--json")
    assert (json.loads(out)["power"]["gain"], json.loads(out)["power"]["seeds_for_gain"]) == (5, 7)


def test_fewer_than_three_seeds_have_no_interval_over_seeds(
    groups: tuple[Path, Path], tmp_path: Path, capsys: Any
) -> None:
    for seed in (1, 2):
        run = publish(tmp_path / "two", record(seed, 20 + seed, NONE), 20 + seed)
    _, out, _ = compare(capsys, run.counts.parent, groups[1])
    assert "(bootstrap over examples alone: an interval over seeds needs 3)" in out
    assert "over seeds     no interval: it needs 3 seeds, there are 2" in out
    assert "Student" not in out
    published = [next(side.parent.glob(f"{side.name}*-s1.json")) for side in groups]
    _, out, _ = compare(capsys, *published)
    assert "power          unknown how many seeds are needed" in out
    _, out, _ = compare(capsys, *published, "--json")
    assert json.loads(out)["power"] is None


def test_runs_that_met_their_cap_are_marked(groups: tuple[Path, Path], tmp_path: Path, capsys: Any) -> None:
    run = publish(tmp_path / "cut", record(2, 30, ELMO, stopped="cap"), 30)
    _, out, _ = compare(capsys, groups[0], run.counts.with_suffix(".json"))
    assert "not converged: 1 of 2 runs reached their cap" in out


def test_two_encoders_of_one_name_are_compared_and_told_apart(tmp_path: Path, capsys: Any) -> None:
    places = []
    for fingerprint, numbers in (("a" * 64, (20, 22, 21)), ("b" * 64, (27, 27, 25))):
        for seed, right in enumerate(numbers, start=1):
            changes = {"encoder": "model A", "identity": {"encoder_fingerprint": fingerprint}}
            run = publish(tmp_path, record(seed, right, ELMO, **changes), right)
        places.append(tmp_path / "pos" / run.record.condition[:8])
    code, out, _ = compare(capsys, *places)
    assert code == 0
    assert "ELMo (model A aaaaaa) at input" in out
    assert "ELMo (model A bbbbbb) at input" in out
    assert "differs: encoder_fingerprint aaaaaaaaaaaa / bbbbbbbbbbbb" in out
    assert "gain +13.33" in out
    assert "bootstrap over seeds and examples" in out


def test_runs_that_never_saw_test_data_are_compared_by_dev(tmp_path: Path, capsys: Any) -> None:
    places = []
    for elmo, right in ((NONE, 20), (ELMO, 27)):
        made = record(1, right, elmo)
        score = {"dev": made.scores["dev"]}
        run = publish(tmp_path, made.model_copy(update={"scores": score}), right)
        places.append(tmp_path / "pos" / f"{run.record.condition}-s1.json")
    code, _, err = compare(capsys, *places)
    assert code == 2
    assert "A was not scored on test (evaluate.splits=dev): compare with --split dev" in err
    code, out, _ = compare(capsys, *places, "--split", "dev")
    assert code == 0
    assert "gain +17.50" in out
