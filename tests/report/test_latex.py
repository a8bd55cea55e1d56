"""LaTeX tables fit a column of a paper, have labels, and compile."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from elmo_bench import directories
from elmo_bench.cli.main import main
from elmo_bench.report.labels import name_apart, slug
from elmo_bench.report.latex import COLUMN, DOWN, PAGE, split, width_of, write_latex
from elmo_bench.report.model import Cell, Report, Section, Table
from tests.conftest import PROJECT
from tests.report.test_report import build
from tests.support.report_records import publish_world

HEADINGS = ("Task", "System", *(f"Score {number}" for number in range(9)))
PAPERS = {  # of two columns, as ACL's, and of one, as LaTeX's own
    "twocolumn": r"\usepackage[textwidth=16cm,textheight=24.7cm,columnsep=0.6cm]{geometry}",
    "onecolumn": "",
}


def make_table(
    rows: int, columns: int, block: str = "source open, corpus a, size open, encoder b (0a1b)"
) -> Table:
    cells = tuple(
        (Cell(("NER",)), Cell((f"system {row}",)), *(Cell(("12.34 ± 5.67",), "score"),) * (columns - 2))
        for row in range(rows)
    )
    return Table(
        "table1", block, "Table 1", HEADINGS[:columns], cells, ("a note",), ("run --config-dir /home/me",)
    )


def test_a_small_table_is_one_part_in_one_column() -> None:
    (part,) = split(make_table(3, 4), "table1")
    assert (part.label, part.caption, part.is_wide, part.notes) == ("table1", "Table 1.", False, ("a note",))
    assert sum(column.share for column in part.columns) <= 1


def test_parts_hold_every_cell_once_and_the_names_of_their_rows() -> None:
    table = make_table(100, 11)
    parts = list(split(table, "table1"))
    assert [part.label for part in parts[:2]] == ["table1", "table1-part2"]
    assert parts[0].caption == f"Table 1 (part 1 of {len(parts)})."
    assert all([column.heading for column in part.columns[:2]] == ["Task", "System"] for part in parts)
    assert all(len(part.rows) <= DOWN for part in parts)
    assert all(sum(column.share for column in part.columns) <= 1 + 1e-9 for part in parts)
    cells = sum(len(part.rows) * (len(part.columns) - 2) for part in parts)
    assert cells == 100 * 9
    assert [note for part in parts for note in part.notes] == ["a note"]


def test_a_column_is_never_narrower_than_its_longest_word() -> None:
    table = make_table(1, 3)
    cell = Cell(("internationalisation of things",))
    wider = Table(table.name, table.block, "", table.columns, ((*table.rows[0][:2], cell),))
    assert width_of(wider, 2) >= len("internationalisation")
    assert COLUMN < PAGE


def test_labels_are_distinct_and_name_what_is_shown() -> None:
    blocks = [
        "source open, size open, encoder a (00)",
        "source open, size open, encoder a (11)",
        "source open",
    ]
    labels = name_apart(f"table1 {block}" for block in blocks)
    assert labels == ["table1-open-open-a", "table1-open-open-a-2", "table1-open"]
    assert slug("Learning curves: SST-5") == "learning-curves-sst-5"


def test_no_path_and_no_command_of_this_machine_is_in_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "_own", [tmp_path], raising=False)
    publish_world(tmp_path / "records")
    text = write_latex(build(tmp_path / "records"))
    assert str(tmp_path) not in text and "config-dir" not in text
    assert "/home/me" not in write_latex(Report("", (Section("a", "a", "a", (make_table(2, 4),)),), (), ()))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tables.tex of the published records."""
    output = tmp_path_factory.mktemp("report")
    records = f"paths.records={PROJECT / 'results' / 'records'}"
    assert main(["report", records, "--output", str(output), "--resamples", "100"]) == 0
    return output / "tables.tex"


def problems(log: str) -> Iterator[str]:
    """What LaTeX prints of errors, of what is wider than its column, and of floats longer than a page."""
    yield from re.findall(
        r"^(?:!|Overfull|LaTeX Warning: (?:Float too|Label|Reference)).*", log, re.MULTILINE
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("pdflatex"), reason="needs pdflatex: apt-get install texlive-latex-recommended"
)
@pytest.mark.parametrize("paper", PAPERS)
def test_the_tables_of_the_published_records_fit_a_paper(paper: str, tables: Path, tmp_path: Path) -> None:
    shutil.copy(tables, tmp_path)
    lines = [
        rf"\documentclass[{paper}]{{article}}",
        r"\usepackage[utf8]{inputenc}\usepackage{array,booktabs}",
        PAPERS[paper],
        r"\begin{document}\input{tables.tex}\end{document}",
    ]
    (tmp_path / "paper.tex").write_text("\n".join(lines), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-draftmode", "paper.tex"]
    for _ in range(2):  # labels are known in the second pass
        subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL, timeout=300)
    log = (tmp_path / "paper.log").read_text(encoding="latin-1")
    assert list(problems(log)) == []
    assert r"\label" in tables.read_text(encoding="utf-8")
