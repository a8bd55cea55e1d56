"""A report of fixed records, byte for byte in every format.

After a wanted change, `python -m tests.golden.test_report_golden` writes the files anew.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from elmo_bench.report.formats import write_csv, write_latex, write_markdown
from elmo_bench.report.model import Report
from elmo_bench.report.page import write_page
from tests.report.test_report import build
from tests.support.report_records import publish_world

GOLDEN = Path(__file__).parent / "report"
FORMATS: dict[str, Callable[[Report], str]] = {
    "TABLES.md": write_markdown,
    "tables.tex": write_latex,
    "tables.csv": write_csv,
    "index.html": write_page,
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    directory = tmp_path_factory.mktemp("records")
    publish_world(directory)
    return build(directory)


@pytest.mark.parametrize("name", FORMATS)
def test_report_is_the_golden_one(name: str, report: Report) -> None:
    assert FORMATS[name](report) == (GOLDEN / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        publish_world(Path(place))
        made = build(Path(place))
    for file, write in FORMATS.items():
        (GOLDEN / file).write_text(write(made), encoding="utf-8")
