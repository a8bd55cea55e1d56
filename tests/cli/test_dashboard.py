"""The dashboard without an account: what it would build is whole, and names only what runs report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elmo_bench.catalog import list_tables
from elmo_bench.cli.main import main
from elmo_bench.conditions import describe_method
from elmo_bench.config import RunConfig
from elmo_bench.dashboard.building import Project, specify
from elmo_bench.dashboard.plan import plan_dashboard
from elmo_bench.records import read_records
from elmo_bench.run.tracked import summarise_run
from tests.conftest import PROJECT
from tests.support.composition import TASKS, run_config

SECTIONS = plan_dashboard(list_tables(), TASKS)


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A person without a key."""
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("words", [[], ["--offline"]])
def test_without_an_account_the_specification_is_written(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "dashboard.json"
    assert main(["dashboard", "--output", str(target), *words]) == 0
    printed = capsys.readouterr().out
    assert "nothing was sent" in printed
    assert str(target) in printed
    written = json.loads(target.read_text())
    titles = [section["name"] for section in written["workspace"]["sections"]]
    assert titles == [section.title for section in SECTIONS]
    assert written["filters"] == "Config('source') = 'sample'"


@pytest.mark.usefixtures("nobody")
def test_no_file_is_written_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["dashboard"]) == 0
    assert "nothing was sent" in capsys.readouterr().out
    assert list(tmp_path.rglob("*.json")) == []


def test_a_source_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--offline", "--data", "opne"]) == 2
    assert "--data opne: there is no such source; did you mean 'open'?" in capsys.readouterr().err


def test_wandb_mode_offline_is_respected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert main(["dashboard"]) == 0
    assert "--offline was given" in capsys.readouterr().out


def test_the_report_has_a_grid_for_every_task_of_every_section() -> None:
    blocks = specify(Project("", "project", "open", "paper"), SECTIONS)["report"]["blocks"]
    grids = [block for block in blocks if block["type"] == "panel-grid"]
    assert len(grids) == sum(len(section.tasks) for section in SECTIONS)
    panels = sum(len(section.tasks) * len(section.panels) for section in SECTIONS)
    assert sum(len(grid["metadata"]["panelBankSectionConfig"]["panels"]) for grid in grids) == panels


def test_panels_name_only_what_a_run_reports() -> None:
    """A summary of published runs and the columns of a learning curve have all that is drawn."""
    known = {"dev", "loss", "epoch"}
    for _, record in read_records(PROJECT / "results" / "records"):
        known |= summarise_run(record).keys()
    drawn = {name for section in SECTIONS for panel in section.panels for name in panel.metrics}
    assert {name for name in drawn if "output" not in name} <= known


@pytest.mark.parametrize(
    ("overrides", "method"),
    [
        (("elmo=none",), "without ELMo"),
        (("elmo=none", "words=none"), "without ELMo, no word vectors"),
        ((), "ELMo (sample) at input, all layers, lambda 0.1"),
        (("elmo=last", "elmo.where=both"), "ELMo (sample) at both, last layer"),
        (("data.fraction=0.01",), "ELMo (sample) at input, all layers, lambda 0.1, fraction 0.01"),
    ],
)
def test_runs_that_are_compared_have_different_methods(overrides: tuple[str, ...], method: str) -> None:
    config: RunConfig = run_config("task=ner", *overrides)
    assert describe_method(config) == method
