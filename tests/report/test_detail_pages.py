"""The pages beside the report's page: what they hold, where links lead, and which a later report removes."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from elmo_bench.cli.main import main
from elmo_bench.report.detail_pages import DIRECTORY, write_details
from elmo_bench.report.model import Report
from elmo_bench.report.page import write_page
from tests.report.test_report import EVIL, build
from tests.support.report_records import ELMO, NONE, make_record, publish, publish_world


@pytest.fixture
def records(tmp_path: Path) -> Path:
    publish_world(tmp_path / "records")
    return tmp_path / "records"


def write_report(records: Path, output: Path) -> int:
    return main(["report", f"paths.records={records}", "--output", str(output), "--resamples", "100"])


def publish_pair(records: Path) -> dict[str, str]:
    """A baseline and its run with ELMo; their conditions."""
    made = {"none": make_record("ner", 1, 20, NONE), "elmo": make_record("ner", 1, 30, ELMO)}
    for record, right in zip(made.values(), (20, 30), strict=True):
        publish(records, record, right)
    return {name: record.condition for name, record in made.items()}


def broken_links(place: str, text: str, pages: dict[str, str]) -> list[str]:
    """Links of a page to others that do not exist, or to a place that they do not have."""
    broken = []
    for link in re.findall(r'href="([^"]*(?:\.html|#)[^"]*)"', text):
        name, _, anchor = link.partition("#")
        target = pages.get(os.path.normpath(Path(place).parent / name) if name else place)
        if target is None or (anchor and f'id="{anchor}"' not in target):
            broken.append(f"{place}: {link}")
    return broken


def test_every_link_leads_to_a_place_that_is_written(records: Path) -> None:
    report = build(records)
    details = {f"{DIRECTORY}/{name}": content for name, content in write_details(report)}
    pages = {"index.html": write_page(report), **details}
    assert [one for place, text in pages.items() for one in broken_links(place, text, pages)] == []
    linked = set(re.findall(r'href="(details/[^"#]+)', pages["index.html"]))
    assert linked == {name for name in details if name.endswith(".html")}


def test_one_click_leads_from_a_gain_to_both_conditions_seed_by_seed(records: Path) -> None:
    report = build(records)
    pair = next(one for one in report.details.pairs if one.title == "NER on world, seed by seed")
    link = f'<a href="details/{pair.after}.html#{pair.before}">'
    assert re.search(rf"{re.escape(link)}\+[\d.]+", write_page(report))
    page = dict(write_details(report))[f"{pair.after}.html"]
    section = page[page.index(f'<section id="{pair.before}">') :]
    assert f'<a href="{pair.before}.html">{pair.first}</a>' in section
    assert all(f">{value}<" in section for row in pair.rows for value in row)


def test_a_condition_has_its_runs_settings_command_and_drawings(records: Path) -> None:
    report = build(records)
    pages = dict(write_details(report))
    for one in report.details.conditions:
        page = pages[f"{one.condition}.html"]
        assert one.dots in page and one.curves in page and one.command in page
        assert all(f"\n{key}: {value}\n" in page for key, value in one.settings)
        assert page.count(">record</a>") == len(one.seeds)


def test_links_lead_to_the_records_wherever_the_report_lies(records: Path, tmp_path: Path) -> None:
    for output in (tmp_path, tmp_path / "out" / "deep"):
        pages = "".join(content for _, content in write_details(build(records), output))
        links = re.findall(r'href="([^"#]+\.(?:json|npz))"', pages)
        assert len(links) == 2 * len(list(records.rglob("*.npz")))
        assert all(Path(os.path.normpath(output / DIRECTORY / link)).is_file() for link in links)


def test_the_page_is_as_long_whatever_the_details_are(records: Path) -> None:
    report = build(records)
    longer = replace(
        report.details,
        conditions=tuple(
            replace(one, seeds=one.seeds * 9, settings=one.settings * 9, dots=one.dots * 9)
            for one in report.details.conditions
        ),
        pairs=tuple(replace(pair, rows=pair.rows * 9) for pair in report.details.pairs),
    )
    sections = tuple(
        replace(one, figures=tuple(replace(figure, notes=("long",) * 9) for figure in one.figures))
        if one.is_apart
        else one
        for one in report.sections
    )
    assert write_page(replace(report, details=longer, sections=sections)) == write_page(report)


def test_learning_curves_lie_in_a_page_of_their_own_with_their_remarks(records: Path) -> None:
    report = build(records)
    (section,) = (one for one in report.sections if one.is_apart)
    page, drawings = write_page(report), dict(write_details(report))["curves.html"]
    captions = [figure.caption for figure in section.figures]
    assert captions and all(f">{caption}</a>" in page for caption in captions)
    assert re.findall("<figcaption>([^<]+)", drawings) == captions
    assert all(figure.svg in drawings and figure.svg not in page for figure in section.figures)
    notes = {note for figure in section.figures for note in figure.notes}
    assert notes and all(drawings.count(note) == 1 for note in notes)


def evil_details(report: Report) -> Report:
    """A report whose conditions have what looks like markup wherever they have words."""
    words: dict[str, Any] = dict.fromkeys(("task", "described", "setting", "metric", "command"), EVIL)
    conditions = tuple(
        replace(one, **words, marks=(EVIL,), scores=((EVIL, EVIL), (EVIL, EVIL)), settings=((EVIL, EVIL),))
        for one in report.details.conditions
    )
    pairs = tuple(
        replace(pair, title=EVIL, first=EVIL, second=EVIL, rows=((EVIL, EVIL), (EVIL, EVIL)))
        for pair in report.details.pairs
    )
    return replace(report, details=replace(report.details, conditions=conditions, pairs=pairs))


def test_details_never_take_data_for_markup(tmp_path: Path) -> None:
    publish_pair(tmp_path)
    tags: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            tags.add(tag)
            assert not any(name.startswith("on") for name, _ in attributes)

    for name, content in write_details(evil_details(build(tmp_path))):
        if name.endswith(".html"):
            Reader().feed(content)
    assert "section" in tags
    assert not tags & {"script", "img", "b"}


def test_details_need_no_script_and_nothing_from_elsewhere(records: Path) -> None:
    for name, content in write_details(build(records)):
        assert "@import" not in content and "url(" not in content and "<script" not in content
        assert not re.search(r'(src|srcset)="', content)
        assert not re.search(r'href="(/|\w+:)', content), name
        for drawing in re.findall(r"<svg.*?</svg>", content, re.DOTALL):
            ElementTree.fromstring(drawing)  # well-formed


def test_a_report_removes_pages_of_conditions_that_are_gone_and_nothing_else(tmp_path: Path) -> None:
    records, output = tmp_path / "records", tmp_path / "out"
    conditions = publish_pair(records)
    assert write_report(records, output) == 0
    written = {path.name for path in (output / DIRECTORY).iterdir()}
    assert written == {*(f"{one}.html" for one in conditions.values()), "curves.html", "page.css"}
    foreign = output / DIRECTORY / "notes.html"
    foreign.write_text("<p>elmo_bench report</p>")
    (output / DIRECTORY / "0123456789ab.html").mkdir()
    for path in records.rglob(f"{conditions['elmo']}*"):
        path.unlink()
    assert write_report(records, output) == 0
    left = {path.name for path in (output / DIRECTORY).iterdir()}
    assert left == {*written - {f"{conditions['elmo']}.html"}, foreign.name, "0123456789ab.html"}


def test_the_page_is_written_after_all_that_it_links_to(tmp_path: Path, capsys: Any) -> None:
    records, output = tmp_path / "records", tmp_path / "out"
    conditions = publish_pair(records)
    blocked = output / DIRECTORY / f"{conditions['none']}.html"
    blocked.mkdir(parents=True)
    assert write_report(records, output) == 1
    assert str(blocked) in capsys.readouterr().err
    assert not (output / "index.html").exists()
