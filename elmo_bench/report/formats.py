"""A report as Markdown and CSV; text from data is escaped for each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from elmo_bench.report.cells import NO_RUN, NOTHING
from elmo_bench.report.model import Cell, Report, Table
from elmo_bench.report.remarks import say_once
from elmo_bench.report.templates import Filter, render_text

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~])")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take for the start of a formula


def write_markdown(report: Report) -> str:
    """TABLES.md."""
    said = iter(say_once([table.notes for section in report.sections for table in section.tables]))
    filters: dict[str, Filter] = {
        "escape": escape_markdown,
        "one_line": one_line,
        "in_cell": write_markdown_cell,
        "with_remarks": lambda tables: [(table, next(said)) for table in tables],
    }
    return render_text("tables.md.jinja", filters, report=report)


def write_markdown_cell(cell: Cell) -> str:
    """The lines of a cell; the table says once what fills the cells without a run."""
    if cell == NO_RUN:
        return NOTHING.text
    return emphasise("*{}*", "<br>".join(map(escape_markdown, cell.printed)), cell)


def escape_markdown(text: str) -> str:
    """Text that no Markdown reader takes for markup, on one line."""
    return MARKDOWN.sub(r"\\\1", one_line(text)).replace("&", "&amp;")


def emphasise(pattern: str, text: str, cell: Cell) -> str:
    """A cell that holds no number of ours to rely on stands out."""
    return pattern.format(text) if cell.kind in ("missing", "unverified") else text


def one_line(text: str) -> str:
    """Text without line breaks."""
    return " ".join(text.split())


CSV_COLUMNS = (
    "table", "block", "row", "task", "system", "column", "kind", "printed",
    "value", "deviation", "n", "marks", "runs",
)  # fmt: skip


def write_csv(report: Report) -> str:
    """tables.csv: one line per cell with content, with the numbers in full and the runs they are from."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for section in report.sections:
        for table in section.tables:
            for number, row in enumerate(table.rows, start=1):
                writer.writerows(_csv_lines(table, number, row))
    return file.getvalue()


def _csv_lines(table: Table, number: int, row: Sequence[Cell]) -> Iterator[list[str]]:
    first = len(table.heads)
    names = dict(zip(table.heads, (cell.text for cell in row), strict=False))
    heading = (table.name, table.block, number, names.get("task", ""), names.get("system", ""))
    for column, cell in zip(table.columns[first:], row[first:], strict=True):
        if cell == NOTHING:
            continue
        texts = (*heading, column, cell.kind, cell.text)
        numbers = ["" if one is None else repr(one) for one in (cell.value, cell.deviation, cell.count)]
        lists = [" ".join(cell.marks), " ".join(cell.runs)]
        yield [*(escape_csv(str(one)) for one in texts), *numbers, *map(escape_csv, lists)]


def escape_csv(text: str) -> str:
    """Text that no spreadsheet takes for a formula; signed numbers stay numbers."""
    if text.startswith(FORMULA) and not re.match(r"[+-]\d", text):
        return "'" + text
    return text
