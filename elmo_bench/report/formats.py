"""A report as Markdown, LaTeX and CSV; text from data is escaped for each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from elmo_bench.commands import spell_command
from elmo_bench.report.model import Cell, Report, Section, Table

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~])")
LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "<": "$<$",
    ">": "$>$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "³": "$^3$",
    "λ": r"$\lambda$",
    "γ": r"$\gamma$",
    "φ": r"$\varphi$",
    "–": "--",
    "\n": " ",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take for the start of a formula


def write_markdown(report: Report) -> str:
    """TABLES.md."""
    parts = ["# Tables", escape_markdown(report.summary), "Figures are in `index.html`."]
    if report.warnings:
        parts.append("## Warnings\n\n" + _bullets(report.warnings))
    parts += [_markdown_section(section) for section in report.sections if section.tables]
    parts.append("## How to read the numbers\n\n" + _bullets(report.notes))
    return "\n\n".join(parts) + "\n"


def _markdown_section(section: Section) -> str:
    tables = [_markdown_table(table) for table in section.tables]
    return "\n\n".join([f"## {escape_markdown(section.title)}", escape_markdown(section.about), *tables])


def _markdown_table(table: Table) -> str:
    rows = [
        _markdown_row(table.columns),
        "|" + "---|" * len(table.columns),
        *(_markdown_row([_markdown_cell(cell) for cell in row], escaped=True) for row in table.rows),
    ]
    parts = [f"**{escape_markdown(table.caption)}**", "\n".join(rows)]
    parts += [f"> {escape_markdown(note)}" for note in table.notes]
    parts += [f"Cells without a run are filled by\n\n{_fence(command)}" for command in table.commands]
    return "\n\n".join(parts)


def _markdown_row(cells: list[str] | tuple[str, ...], escaped: bool = False) -> str:
    return "| " + " | ".join(cells if escaped else map(escape_markdown, cells)) + " |"


def _markdown_cell(cell: Cell) -> str:
    lines = "<br>".join(escape_markdown(line) for line in cell.printed)
    return f"*{lines}*" if cell.kind in ("missing", "unverified") else lines


def _fence(command: str) -> str:
    return f"```bash\n{' '.join(command.split()).replace('```', '')}\n```"


def _bullets(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {escape_markdown(line)}" for line in lines)


def escape_markdown(text: str) -> str:
    """Text that no Markdown reader takes for markup, on one line."""
    return MARKDOWN.sub(r"\\\1", " ".join(text.split())).replace("&", "&amp;")


def write_latex(report: Report) -> str:
    """tables.tex: one table environment per block, to be read with \\input."""
    head = [
        f"% Needs booktabs, graphicx and inputenc with utf8. Made by {spell_command('report')}.",
        *(f"% warning: {_one_line(warning)}" for warning in report.warnings),
    ]
    tables = [_latex_table(table) for section in report.sections for table in section.tables]
    return "\n\n".join(["\n".join(head), *tables]) + "\n"


def _latex_table(table: Table) -> str:
    notes = " ".join(escape_latex(note) for note in table.notes)
    commands = "".join(rf" Missing cells: \texttt{{{escape_latex(command)}}}." for command in table.commands)
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering",
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{{'l' * len(table.columns)}}}",
            r"\toprule",
            " & ".join(escape_latex(name) for name in table.columns) + r" \\",
            r"\midrule",
            *(" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\caption{{{escape_latex(table.caption)}. {notes}{commands}}}",
            r"\end{table*}",
        ]
    )


def _latex_cell(cell: Cell) -> str:
    lines = escape_latex(cell.text)
    return rf"\textit{{{lines}}}" if cell.kind in ("missing", "unverified") else lines


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(LATEX.get(character, character) for character in text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


CSV_COLUMNS = (
    "table", "block", "row", "task", "system", "column", "kind", "printed",
    "value", "deviation", "n", "marks", "runs",
)  # fmt: skip


def write_csv(report: Report) -> str:
    """tables.csv: one line per cell, with the numbers in full and the runs they are from."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for section in report.sections:
        for table in section.tables:
            for number, row in enumerate(table.rows, start=1):
                writer.writerows(_csv_lines(table, number, row))
    return file.getvalue()


def _csv_lines(table: Table, number: int, row: Sequence[Cell]) -> Iterator[list[str]]:
    task, system = row[0].text, row[1].text if len(row) > 1 else ""
    for column, cell in zip(table.columns[2:] or table.columns, row[2:] or row, strict=True):
        texts = (table.name, table.block, number, task, system, column, cell.kind, cell.text)
        numbers = ["" if one is None else repr(one) for one in (cell.value, cell.deviation, cell.count)]
        lists = [" ".join(cell.marks), " ".join(cell.runs)]
        yield [*(escape_csv(str(one)) for one in texts), *numbers, *map(escape_csv, lists)]


def escape_csv(text: str) -> str:
    """Text that no spreadsheet takes for a formula; signed numbers stay numbers."""
    if text.startswith(FORMULA) and not re.match(r"[+-]\d", text):
        return "'" + text
    return text
