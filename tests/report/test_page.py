"""What the page folds, what its numbers open to, and where its links lead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.catalog import list_findings
from elmo_bench.report.chapters import Part, divide
from elmo_bench.report.comparison import Referee
from elmo_bench.report.detail_pages import write_details
from elmo_bench.report.details import build_details, conditions_of, tabulate_scores
from elmo_bench.report.formats import write_markdown
from elmo_bench.report.inputs import ReportInputs
from elmo_bench.report.model import Cell, ConditionDetail, Report
from elmo_bench.report.page import hidden_value, write_page
from elmo_bench.report.published import Published
from elmo_bench.report.remarks import say_once
from tests.report.test_report import build
from tests.support.report_records import DEFAULTS, ELMO, NONE, make_record, publish, publish_world


@pytest.fixture
def records(tmp_path: Path) -> Path:
    publish_world(tmp_path / "records")
    return tmp_path / "records"


def parts(report: Report, name: str) -> tuple[Part, ...]:
    return next(chapter.parts for chapter in divide(report.sections) if chapter.section.name == name)


def detail(directory: Path, **changes: Any) -> ConditionDetail:
    """The details of the runs of one condition."""
    elmo = changes.pop("elmo", ELMO)
    for seed in (1, 2):
        publish(directory, make_record("ner", seed, 30, elmo, **changes), 30)
    (found,) = build(directory).details.conditions
    return found


def test_the_page_opens_with_findings_then_gains_then_table_1(records: Path) -> None:
    sections = build(records, families=list_findings()).sections
    assert [section.name for section in sections][:4] == ["findings", "gains", "table1", "table2"]


def test_one_part_of_a_section_is_open_and_controls_and_empty_ones_are_folded(records: Path) -> None:
    report = build(records)
    found = parts(report, "table1")
    assert [(part.place.encoder, part.is_folded) for part in found] == [
        ("sample", False),
        ("untrained", True),
    ]
    (empty,) = parts(report, "table11")
    assert (empty.is_folded, empty.is_empty) == (True, True)
    asides = {section.name for section in report.sections if section.is_aside}
    assert asides == {"sample_check"}


def test_the_real_text_is_open_and_the_generated_world_folded(records: Path) -> None:
    place = {"source": "open", "corpus": "wikigold", "size": "open", "identity": {"size": "open"}}
    publish(records, make_record("ner", 1, 20, NONE, **place), 20)
    publish(records, make_record("ner", 1, 30, ELMO, **place), 30)
    for name in ("gains", "table1"):
        found = [(part.place.source, part.is_folded) for part in parts(build(records), name)]
        assert found[:2] == [("open", False), ("sample", True)]


def test_findings_that_no_run_is_about_are_one_closed_line(tmp_path: Path) -> None:
    own = {"source": "files", "corpus": "own"}
    publish(tmp_path, make_record("pos", 1, 20, ELMO, **own), 20)
    (only,) = parts(build(tmp_path, families=list_findings()), "findings")
    assert only.is_folded and re.fullmatch(r"\d+ not run, source files", only.title)
    for elmo, right in ((NONE, 20), (ELMO, 27)):
        publish(tmp_path, make_record("ner", 1, right, elmo, **own), right)
    report = build(tmp_path, families=list_findings())
    (both,) = parts(report, "findings")
    assert not both.is_folded  # a finding with a verdict stays in front
    assert [table.is_empty for table, _ in both.tables] == [False, True]
    assert re.search(
        r'<details class="fold">\s*<summary>\d+ not run, source files</summary>', write_page(report)
    )


def test_every_number_of_ours_links_to_runs_that_the_report_has(records: Path) -> None:
    report = build(records)
    scores = [
        cell.runs
        for section in report.sections
        for table in section.tables
        for row in table.rows
        for cell in row
        if cell.kind == "score"
    ]
    known = {one.condition for one in report.details.conditions}
    assert all(runs and set(conditions_of(runs)) <= known for runs in scores)


def test_a_gain_opens_to_both_conditions_seed_by_seed(records: Path) -> None:
    pairs = [one for one in build(records).details.pairs if one.title == "NER on world, seed by seed"]
    (pair,) = [one for one in pairs if "(sample)" in one.second]
    assert pair.first == "without ELMo"
    assert pair.rows[0] == ("seed", "dev before", "dev after", "dev gain", *pair.rows[0][4:])
    assert [row[-1] for row in pair.rows[1:]] == ["+17.50", "+12.50", "+10.00"]


def test_the_script_names_columns_so_that_no_cell_repeats_its_heading(records: Path) -> None:
    page = write_page(build(records))
    body = page[page.index("<main") : page.index("<script>")]
    assert "data-label" not in body and "dataset.label" in page


@pytest.mark.parametrize(
    ("cell", "hidden"),
    [
        (Cell(("79.30 ± 0.20", "n = 3"), value=79.2987), None),
        (Cell(("1,234",), value=1233.6), None),
        (Cell(("+0.5",), value=0.5), None),
        (Cell(("12.0 % less error",), value=-12.0), "-12"),
        (Cell(("p 0.023",), value=0.0234567), "0.0234567"),
        (Cell(("3 of 5",)), None),
    ],
)
def test_a_cell_hides_what_it_is_sorted_by_only_where_its_text_does_not_say_it(
    cell: Cell, hidden: str | None
) -> None:
    assert hidden_value(cell) == hidden


def test_a_remark_is_said_in_full_once() -> None:
    first, second, third = say_once([("world", "own"), ("world", "world"), ("world", "other")])
    assert first.first == ((1, "world"), (0, "own"))
    assert (second.first, second.again) == ((), (1,))
    assert (third.first, third.again) == (((0, "other"),), (1,))


def test_page_and_markdown_say_every_remark_and_every_empty_table_once(records: Path) -> None:
    report = build(records)
    world = "say nothing about English"
    assert sum(world in note for one in report.sections for t in one.tables for note in t.notes) > 5
    for text in (write_page(report), write_markdown(report)):
        assert text.count(world) == 1
    assert "no run |" not in write_markdown(report)
    page = write_page(report)
    empty = [t for one in report.sections for t in one.tables if t.commands]
    assert page.count("No run yet for the empty cells") == len(empty)


def test_the_seeds_are_dots_and_the_curves_have_the_best_epoch_and_the_cap(tmp_path: Path) -> None:
    capped = detail(tmp_path / "capped", stopped="cap")
    assert capped.dots.count("<circle") == 4  # dev and test of two seeds
    assert (capped.curves.count("<circle"), capped.curves.count("<rect")) == (2, 2)
    assert capped.marks == ("not converged",)
    assert [seed.ended for seed in capped.seeds] == ["cap: not converged"] * 2
    stopped = detail(tmp_path / "stopped", stopped="patience")
    assert (stopped.curves.count("<circle"), stopped.curves.count("<rect")) == (2, 0)
    assert stopped.marks == ()


def test_scores_of_labels_are_means_over_the_seeds() -> None:
    scores = [
        {"test": {"f1": 50.0, "precision": 40.0, "f1:LOC": value, "accuracy": 9.0}, "dev": {}}
        for value in (20.0, 40.0)
    ]
    records = [make_record("ner", seed, 20, NONE, scores=own) for seed, own in enumerate(scores)]
    assert list(tabulate_scores(records)) == [
        ("", "f1", "precision", "accuracy"),
        ("all", "50.00", "40.00", "9.00"),
        ("LOC", "30.00", "", ""),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"elmo": NONE}, "data=sample elmo=none seed=1,2"),
        ({}, "data=sample encoder=sample seed=1,2"),
        ({"elmo": {**ELMO, "lambda": 1.0}}, "data=sample encoder=sample elmo.lambda=1.0 seed=1,2"),
        ({"elmo": {**ELMO, "layers": "last"}}, "data=sample encoder=sample elmo.layers=last seed=1,2"),
        ({"elmo": {**ELMO, "layer_norm": True}}, "data=sample encoder=sample elmo.layer_norm=true seed=1,2"),
        (
            {"source": "open", "corpus": "wnut17", "size": "quick"},
            "data=open data.corpus=wnut17 size=quick encoder=sample words=random seed=1,2",
        ),
        (
            {"identity": {"data": {"source": "sample", "fraction": 0.1, "limit": 7}}},
            "data=sample encoder=sample data.fraction=0.1 data.limit=7 seed=1,2",
        ),
    ],
)
def test_a_condition_has_the_command_that_makes_its_runs(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    assert detail(tmp_path, **changes).command == f"python run.py -m task=ner {words}"


def test_settings_are_those_that_decide_the_numbers(tmp_path: Path) -> None:
    settings = dict(detail(tmp_path).settings)
    assert settings["elmo.lambda"] == str(DEFAULTS["lambda"])
    assert settings["encoder_fingerprint"] == "e" * 12
    assert not any(key.startswith("data_sha256") for key in settings)


def test_runs_that_are_not_published_have_no_details(records: Path) -> None:
    sections = build(records).sections
    nothing = ReportInputs(Published((), (), (), ()), Referee({}), {}, {})
    assert build_details(sections, nothing).conditions == ()


def test_curves_of_a_single_epoch_are_not_drawn(tmp_path: Path) -> None:
    for seed in (1, 2):
        publish(tmp_path, make_record("ner", seed, 30, ELMO, curve=[{"epoch": 1.0, "dev": 50.0}]), 30)
    report = build(tmp_path)
    assert parts(report, "curves") == ()
    assert "curves.html" not in dict(write_details(report))
