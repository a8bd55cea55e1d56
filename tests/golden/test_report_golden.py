"""The tables of fixed records: their data cell by cell, and that every format shows the same cells.

After a wanted change, `python -m tests.golden.test_report_golden` writes the file anew.
"""

from __future__ import annotations

import re
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

from elmo_bench.report.cells import NO_RUN, NOTHING
from elmo_bench.report.formats import write_csv, write_markdown
from elmo_bench.report.latex import write_cell, write_latex
from elmo_bench.report.model import Cell, Report, Table
from elmo_bench.report.page import write_page
from tests.report.test_report import build
from tests.support.report_records import publish_world

GOLDEN = Path(__file__).parent / "report" / "tables.csv"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    directory = tmp_path_factory.mktemp("records")
    publish_world(directory)
    return build(directory)


def tables_of(report: Report) -> list[Table]:
    return [table for section in report.sections for table in section.tables]


def texts_of(report: Report) -> list[list[list[str]]]:
    """The lines of every cell without their separators, table by table and row by row.

    Below a table stands once what it has no runs of, so such a cell is a dash.
    """
    return [[[shown(cell) for cell in row] for row in table.rows] for table in tables_of(report)]


def shown(cell: Cell) -> str:
    return "".join((NOTHING if cell == NO_RUN else cell).printed)


def test_the_data_of_all_tables_are_the_golden_ones(report: Report) -> None:
    assert write_csv(report) == GOLDEN.read_text(encoding="utf-8")


TABLE_PARTS = ("table", "tbody", "tr", "td", "th")


class PageReader(HTMLParser):
    """The tables of a page that have a caption, and the outline around them; those of details have none."""

    def __init__(self) -> None:
        super().__init__()
        self.every: list[list[list[str]]] = []
        self.captioned: list[int] = []
        self.captions: list[str] = []
        self.sections: list[str] = []
        self.opened: list[str] = []

    @property
    def tables(self) -> list[list[list[str]]]:
        return [self.every[number] for number in self.captioned]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.end_cell(tag)
        if tag == "section":
            self.sections.append(values["id"] or "")
        elif tag == "table":
            self.every.append([])
        elif tag == "tbody":
            self.opened.append(tag)
        elif tag == "caption":
            self.captions.append("")
            self.captioned.append(len(self.every) - 1)
            self.opened.append(tag)
        elif tag == "tr" and "tbody" in self.opened:
            self.every[-1].append([])
        elif tag in ("td", "th") and "tbody" in self.opened:
            self.every[-1][-1].append("")
            self.opened.append("cell")

    def handle_endtag(self, tag: str) -> None:
        self.end_cell(tag)
        closed = {"caption": "caption", "table": "tbody"}.get(tag)  # a body, too, may have no end tag
        self.opened = [one for one in self.opened if one != closed]

    def end_cell(self, tag: str) -> None:
        """The end tag of a cell may be left out: what comes next of the table ends it."""
        if tag in TABLE_PARTS and "cell" in self.opened:
            self.opened.remove("cell")
            # The style writes the dash of an empty cell.
            self.every[-1][-1][-1] = self.every[-1][-1][-1].strip() or shown(NOTHING)

    def handle_data(self, data: str) -> None:
        if "caption" in self.opened:
            self.captions[-1] += data
        elif "cell" in self.opened:
            self.every[-1][-1][-1] += data.replace("\N{NO-BREAK SPACE}", " ")


def test_the_page_shows_every_cell(report: Report) -> None:
    reader = PageReader()
    reader.feed(write_page(report))
    assert reader.tables == texts_of(report)
    assert reader.captions == [table.caption for table in tables_of(report)]
    assert reader.sections == [
        *(["warnings"] if report.warnings else []),
        *(section.name for section in report.sections),
        "reading",
    ]


def test_markdown_shows_every_cell(report: Report) -> None:
    found: list[list[list[str]]] = []
    for line in write_markdown(report).splitlines():
        if line.startswith("|---"):
            found.append([])
            body = True
        elif line.startswith("| ") and found and body:
            cells = re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))
            found[-1].append([plain(cell) for cell in cells])
        else:
            body = False
    assert found == texts_of(report)


def plain(cell: str) -> str:
    """A cell of Markdown without its markup."""
    text = cell.removeprefix("*").removesuffix("*") if not cell.endswith("\\*") else cell
    return re.sub(r"\\(.)", r"\1", text.replace("<br>", "")).replace("&amp;", "&")


def test_latex_shows_every_cell(report: Report) -> None:
    text = write_latex(report)
    assert text.count(r"\begin{table") == text.count(r"\end{table") >= len(tables_of(report))
    for table in tables_of(report):
        for row in table.rows:
            names = " & ".join(map(write_cell, row[: len(table.heads)]))
            lines = [line for line in text.splitlines() if line.startswith(names)]
            assert all(any(write_cell(cell) in line for line in lines) for cell in row)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        publish_world(Path(place))
        GOLDEN.write_text(write_csv(build(Path(place))), encoding="utf-8")
