"""tasks, doctor and validate: what is here, what would go wrong, and the exit code that says so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from elmo_bench import catalog
from elmo_bench import plugins as plugin_module
from elmo_bench.cli import doctor
from elmo_bench.cli.main import COMMANDS, main
from elmo_bench.runs.check import Inspection
from elmo_bench.types import UsageError, log_to_stderr
from tests.support.composition import TASKS, run_config

TINY = ("bilm@encoder.bilm=tiny",)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"paths.cache={tmp_path_factory.mktemp('cache')}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    assert f"example:\n  python -m elmo_bench {name}" in capsys.readouterr().out


def test_every_task_is_listed_with_every_corpus(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["tasks", "--json", f"paths.local={tmp_path}"]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert sorted(listing) == TASKS
    for task in listing.values():
        sources = {corpus["source"] for corpus in task["corpora"]}
        assert {"sample", "files"} <= sources
        defaults = [corpus["source"] for corpus in task["corpora"] if corpus["default"]]
        assert sorted(defaults) == sorted(sources)  # one for each source


def test_a_corpus_is_here_split_by_split(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["tasks", "pos", f"paths.data={tmp_path}"]
    assert main(command) == 0
    before = capsys.readouterr().out
    assert f"expected: {tmp_path / 'pos' / 'ewt-train.conllu'}" in before
    assert "to get it: UniversalDependencies/UD_English-EWT" in before
    assert f"data=open: expected below {tmp_path}; ELMO_BENCH_DATA=DIR or" in before
    (tmp_path / "pos").mkdir()
    (tmp_path / "pos" / "ewt-dev.conllu").touch()
    assert main(command) == 0
    assert "train missing, dev here, test missing" in capsys.readouterr().out


def test_a_corpus_of_the_hub_says_where_from(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["tasks", "ner", f"paths.local={tmp_path}"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert re.search(r"data=paper +conll2003\* +columns +hub ", printed)
    assert "when first used: lhoestq/conll2003 at main from the Hugging Face Hub" in printed
    assert f"instead of it: {tmp_path / 'conll2003' / 'train.conll'} and so on" in printed
    (tmp_path / "conll2003").mkdir()
    (tmp_path / "conll2003" / "dev.conll").touch()  # a run would no longer ask the Hub
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "train missing, dev here, test missing" in printed
    assert "when first used" not in printed


def test_a_mistyped_task_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "nerr"]) == 2
    assert "did you mean 'ner'?" in capsys.readouterr().err


def test_the_doctor_finds_this_machine_well(capsys: pytest.CaptureFixture[str], cache: str) -> None:
    assert main(["doctor", cache]) == 0
    printed = capsys.readouterr().out
    assert "problem" not in printed
    assert "self-check         engine and model differ by" in printed


@pytest.mark.parametrize(
    ("requirement", "installed", "found"),
    [
        ("torch>=2.10", "2.13.0+cpu", []),
        ("torch>=2.10", "2.9.1", ["2.9.1, expected >=2.10"]),
        ("torch>=2.10", "2.11.0rc1", []),
        ("hydra-core<1.4,>=1.3.6", "1.3.8", []),
        ("hydra-core<1.4,>=1.3.6", "1.4.0", ["1.4.0, expected <1.4,>=1.3.6"]),
        ("numpy!=2.1.0", "2.1.0", ["2.1.0, expected !=2.1.0"]),
    ],
)
def test_a_package_out_of_bounds_is_a_problem(
    requirement: str, installed: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.importlib.metadata, "version", lambda name: installed)
    checks = doctor.check_requirement(Requirement(requirement))
    assert [(check.state, check.found) for check in checks] == [("problem", one) for one in found]
    assert all(check.remedy == f"pip install '{requirement}'" for check in checks)


def test_an_absent_package_is_a_problem() -> None:
    (check,) = doctor.check_requirement(Requirement("no-such-package>=1"))
    assert (check.state, check.found) == ("problem", "not installed")


def test_an_absent_extra_is_a_note_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "is_installed", lambda package: package not in ("seqeval", "wandb"))
    present, *absent = doctor.check_extras()
    assert present.state == "ok" and "hub" in present.found and "wandb" not in present.found
    assert [(check.state, check.what, check.found) for check in absent] == [
        ("note", "extra wandb", "without wandb"),
        ("note", "extra check", "without seqeval"),
    ]
    assert absent[1].remedy.endswith("-e '.[check]'")


def test_packages_of_extras_are_not_needed() -> None:
    assert doctor.is_needed(Requirement("torch>=2.10"))
    assert not doctor.is_needed(Requirement("pytest>=9; extra == 'dev'"))
    assert not doctor.is_needed(Requirement("torch>=2.10; python_version < '3'"))


def test_the_doctor_says_where_corpora_are_expected(
    capsys: pytest.CaptureFixture[str], cache: str, tmp_path: Path
) -> None:
    assert main(["doctor", cache, f"paths.data={tmp_path / 'absent'}"]) == 0
    printed = capsys.readouterr().out
    assert f"{tmp_path / 'absent'} does not exist" in printed
    assert "only data=open needs it: ELMO_BENCH_DATA=DIR or paths.data=DIR" in printed


def test_a_place_that_cannot_be_written_to_is_a_problem(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda place, mode: False)
    assert main(["doctor"]) == 1
    assert "choose another directory: paths.runs=DIR" in capsys.readouterr().out


def test_little_room_is_answered_with_a_command_that_works(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "LITTLE_ROOM", float("inf"))
    assert main(["doctor", f"paths.cache={tmp_path}"]) == 0
    found = re.search(r"-> python -m elmo_bench (store list \S+) shows", capsys.readouterr().out)
    assert found and main(found[1].split()) == 0
    assert f"nothing is stored in {tmp_path / 'store'}" in capsys.readouterr().out


def test_a_run_that_would_work_is_described(capsys: pytest.CaptureFixture[str], cache: str) -> None:
    assert main(["validate", "task=ner", *TINY, cache]) == 0
    printed = capsys.readouterr().out
    assert "gold scores 100.00" in printed
    assert "layers 0 to 2, 16 dimensions; it will be pre-trained when first needed" in printed
    assert "NerHead" in printed
    assert printed.endswith("OK: no problems found\n")


def test_the_place_of_a_baseline_is_known_before_it_runs(
    capsys: pytest.CaptureFixture[str], cache: str, tmp_path: Path
) -> None:
    assert main(["validate", "task=ner", "elmo=none", cache, f"paths.runs={tmp_path}"]) == 0
    assert f"{tmp_path}/ner/" in (printed := capsys.readouterr().out)
    assert "-s1: not done yet" in printed


@pytest.mark.parametrize(
    ("overrides", "code", "message"),
    [
        (("task=ner", "elmo.layers=7"), 2, "elmo.layers=7 does not exist"),
        (("task=ner", "elmo.lamda=1"), 2, "did you mean 'elmo.lambda'?"),
        (("task=nr",), 2, "task=nr: there is no such choice"),
        (("task=ner", "task=srl"), 2, "task=ner task=srl: expected one of them\n"),
        (("task=ner", "seed=1,2"), 2, "seed=1,2: expected one value, got a sweep; `python run.py -m` takes"),
        (("task=ner", "+experiment=table1"), 2, "+experiment=table1: expected one value, got a sweep"),
        (("task=pos", "elmo.where=both"), 2, "elmo.where"),
        (("task=ner", "words=glove", "words.file=absent.txt"), 3, "absent.txt: no such file"),
        (("task=ner", "encoder=model", "encoder.directory=absent"), 3, "absent: no such model"),
    ],
)
def test_a_run_that_cannot_work_says_why(
    overrides: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str], cache: str
) -> None:
    tiny = () if any(word.startswith("encoder=") for word in overrides) else TINY
    assert main(["validate", *overrides, *tiny, cache]) == code
    printed = capsys.readouterr()
    assert message in printed.out + printed.err


def test_a_damaged_line_is_found_with_its_place(
    capsys: pytest.CaptureFixture[str], cache: str, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.conll", tmp_path / "bad.conll"
    good.write_text("Ada B-PER\nsang O\n")
    bad.write_text("Ada B-PER\nsang\n")
    files = [f"data.train={good}", f"data.dev={good}", f"data.test={bad}"]
    command = ["validate", "task=ner", "data=files", "encoder=sample", "words=random", *TINY, *files, cache]
    assert main(command) == 1
    assert f"{bad}:2: expected 2 columns" in capsys.readouterr().out


def test_the_doctor_names_a_plug_in_that_does_not_fit_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cut_module.py").write_text("class Cut(\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins = {"task": {"cut": "cut_module.Cut"}, "encoder": {"cut": "cut_module.Cut"}}
    monkeypatch.setattr(catalog, "list_plugins", plugins.get)
    monkeypatch.setattr(plugin_module, "list_plugins", plugins.get)
    checks = list(doctor.check_plugins())
    assert [(check.state, check.what) for check in checks] == [
        ("problem", "task cut"),
        ("problem", "encoder cut"),
    ]
    assert all("cut_module.py:1" in check.found for check in checks)


def test_a_score_without_the_declared_metric_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    inspection = Inspection(run_config("task=ner", "elmo=none", "debug=fast"), log_to_stderr)
    monkeypatch.setattr(type(inspection.task), "metric", "quality")
    (error,) = [found.error for found in inspection.results() if found.error]
    assert isinstance(error, UsageError)
    assert re.search(r"^task\.plugin: the metric of \S+ is 'quality', but its score gave .*f1", str(error))
