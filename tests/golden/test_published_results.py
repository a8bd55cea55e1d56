"""The published tables are those that the published records make.

After new records, `python -m elmo_bench report` writes the files anew.
"""

from __future__ import annotations

from pathlib import Path

from elmo_bench.cli.main import main
from tests.conftest import PROJECT

FILES = ("TABLES.md", "tables.csv", "tables.tex", "runs.csv")


def test_results_has_the_tables_of_the_records(tmp_path: Path) -> None:
    results, output = PROJECT / "results", tmp_path / "results"
    # The README's commands keep their resamples in the same cache, by content.
    arguments = [f"paths.records={results / 'records'}", f"paths.cache={results / 'cache'}"]
    assert main(["report", *arguments, "--output", str(output)]) == 0
    different = [name for name in FILES if (output / name).read_bytes() != (results / name).read_bytes()]
    assert different == [], "python -m elmo_bench report"
