"""The dashboard without an account: what it would build is whole, and names only what runs report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from elmo_bench.catalog import list_tables, read_task
from elmo_bench.cli.main import main
from elmo_bench.conditions import describe_method
from elmo_bench.config import RunConfig
from elmo_bench.dashboard.building import Project, specify
from elmo_bench.dashboard.plan import plan_dashboard
from elmo_bench.report.series import row_scores, rows_of, scope_of
from elmo_bench.runs.tracked import summarise_run
from elmo_bench.sources import list_corpora
from tests.conftest import PROJECT
from tests.support.composition import TASKS, run_config
from tests.support.report_records import read_records

CORPORA = list_corpora([read_task(name) for name in TASKS], "sample")
SECTIONS = plan_dashboard(list_tables(), "sample", CORPORA)


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
    with pytest.raises(SystemExit, match="2"):
        main(["dashboard", "--offline", "--source", "opne"])
    assert "--source: invalid choice: 'opne' (choose from" in capsys.readouterr().err


def test_wandb_mode_offline_is_respected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert main(["dashboard"]) == 0
    assert "nothing was sent: WANDB_MODE=offline" in capsys.readouterr().out


def test_the_report_has_a_grid_for_every_task_of_every_section() -> None:
    blocks = specify(Project("", "project", "open", "paper"), SECTIONS)["report"]["blocks"]
    grids = [block for block in blocks if block["type"] == "panel-grid"]
    assert len(grids) == sum(len(section.tasks) for section in SECTIONS)
    panels = sum(len(section.panels) for section in SECTIONS)
    assert sum(len(grid["metadata"]["panelBankSectionConfig"]["panels"]) for grid in grids) == panels


@pytest.mark.parametrize("source", ["sample", "open", "paper", "files"])
def test_no_panel_mixes_tasks_corpora_or_sources(source: str) -> None:
    corpora = list_corpora([read_task(name) for name in TASKS], source)
    sections = plan_dashboard(list_tables(), source, corpora)
    scopes = {f"{task}/{source}/{name}" for task, names in corpora.items() for name in names}
    for section in sections:
        for panel in section.panels:
            (found,) = {"/".join(metric.split("/")[:3]) for metric in panel.metrics}
            assert found in scopes and found.startswith(f"{panel.task}/")
    shown = {"/".join(panel.metrics[0].split("/")[:3]) for section in sections for panel in section.panels}
    assert shown == scopes  # further corpora have panels, too


def test_the_panels_of_two_tables_differ() -> None:
    panels = [panel.metrics for section in SECTIONS for panel in section.panels if panel.kind == "bars"]
    assert len(set(panels)) == len(panels)
    (second,) = [section for section in SECTIONS if section.title == "Table 2: which layers"]
    (third,) = [section for section in SECTIONS if section.title == "Table 3: where ELMo enters"]
    assert second.panels[0].group_by == third.panels[0].group_by == "encoder_name"
    assert not set(second.panels[0].metrics) & set(third.panels[0].metrics)


@pytest.mark.parametrize("name", sorted(list_tables()))
def test_the_rows_of_a_table_have_different_names(name: str) -> None:
    table = list_tables()[name]
    shown = [row for row in table.rows if row.elmo is not None and not row.ensemble]
    if table.kind == "scores":
        assert len(rows_of(table)) == len(shown)
    assert all(re.fullmatch(r"[a-z0-9_]+", short) for short in rows_of(table))


def test_published_runs_fill_the_rows_of_tables_that_they_belong_to() -> None:
    tables = list_tables()
    rows = [row_scores(record, tables) for _, record in read_records(PROJECT / "results" / "records")]
    filled = {name for found in rows for name in found}
    names = ("baseline", "last_layer_only", "all_layers_1", "all_layers_0_001")
    assert {f"srl/sample/world/table2/{name}" for name in names} <= filled
    assert {f"srl/sample/world/table3/{name}" for name in ("input_only", "output_only")} <= filled
    in_both = [found for found in rows if {key.split("/")[3] for key in found} >= {"table2", "table3"}]
    assert in_both  # such as the baseline: the rows of both tables have its score
    for found in in_both:
        assert len({value for key, value in found.items() if key.split("/")[3] in ("table2", "table3")}) == 1


@pytest.mark.slow
def test_panels_name_only_what_a_run_reports() -> None:
    """Summaries of published runs and the rows of their curves have what is drawn."""
    records = [record for _, record in read_records(PROJECT / "results" / "records")]
    known = {name for record in records for name in summarise_run(record)}
    known |= {f"{scope_of(record)}/{key}" for record in records for row in record.curve for key in row}
    kinds = {name.split("/", 3)[-1] for name in known if name.count("/") > 2}
    tables = list_tables()
    for section in SECTIONS:
        for panel in section.panels:
            of_rows = [name for name in panel.metrics if name.split("/")[3] in tables]
            for name in set(panel.metrics) - set(of_rows):
                assert name.split("/", 3)[-1] in kinds or "/elmo/output/" in name, name


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
