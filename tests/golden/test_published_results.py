"""The published tables and the page are those that the published records make, and the page stays small.

After new records, `python -m elmo_bench report` writes the files anew.
"""

from __future__ import annotations

from pathlib import Path

from elmo_bench.cli.main import main
from tests.conftest import PROJECT

FILES = ("TABLES.md", "tables.csv", "tables.tex", "runs.csv", "index.html")
PER_FILE = 4000  # bytes of the page for each file of details: rows of tables


def test_results_has_the_tables_and_the_page_of_the_records(tmp_path: Path) -> None:
    results, output = PROJECT / "results", tmp_path / "results"
    # The README's commands keep their resamples in the same cache, by content.
    arguments = [f"paths.records={results / 'records'}", f"paths.cache={results / 'cache'}"]
    assert main(["report", *arguments, "--output", str(output)]) == 0
    different = [name for name in FILES if (output / name).read_bytes() != (results / name).read_bytes()]
    assert different == [], "python -m elmo_bench report"
    # What they say depends on predictions, which lie where the runs were made.
    names = [{path.name for path in (place / "details").iterdir()} for place in (output, results)]
    assert names[0] == names[1], "python -m elmo_bench report"
    size = (results / "index.html").stat().st_size
    assert size < PER_FILE * len(names[1]), "details belong to elmo_bench/report/condition.html"
