"""The Python of docs/PYTHON.md, docs/FAQ.md and examples/own_data.ipynb runs, and its tables are complete."""

from __future__ import annotations

import shutil
from dataclasses import fields
from itertools import chain
from pathlib import Path

import pytest

import elmo_bench
from elmo_bench.records import read_record
from elmo_bench.report.comparison import Comparison
from elmo_bench.report.rows import rows_of
from tests.conftest import PROJECT
from tests.support.markdown import code_blocks, read_page, section, table_rows
from tests.support.notebooks import code_cells, read_notebook, run_code

PAGE = "docs/PYTHON.md"
NOTEBOOK = PROJECT / "examples" / "own_data.ipynb"
# What makes the runs of the page and of the notebook quick.
QUICK = (
    ('"task=ner", f"elmo', '"task=ner", "debug=fast", "bilm@encoder.bilm=tiny", f"elmo'),
    ("task.training.epochs=400", "task.training.epochs=1"),
)


def quickly(source: str) -> str:
    for before, after in QUICK:
        source = source.replace(before, after)
    return source


def named_in(heading: str) -> set[str]:
    """What the first column of a section's table names in backticks."""
    rows = table_rows(section(read_page(PAGE), heading))[2:]
    return {name.strip("` ") for row in rows for name in row[0].split(",")}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a clone's models, examples and published records of NER."""
    for name in ("results/models", "results/records/ner", "examples"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_column_of_the_data_frame_is_explained() -> None:
    record = next((PROJECT / "results" / "records" / "ner").glob("*-s1.json"))
    assert named_in("Read results") == set(rows_of([read_record(record)])[0])


def test_every_attribute_of_a_comparison_is_explained() -> None:
    assert named_in("Compare") == {field.name for field in fields(Comparison)} | {"mcnemar"}


def test_every_public_name_is_on_the_page() -> None:
    classes_that_functions_return = {"FrozenEncoder", "Results"}
    listed = {
        row[0].strip("`").removeprefix("eb.")
        for row in table_rows(read_page(PAGE))
        if row[0].startswith("`eb.") and "(" not in row[0]
    }
    assert listed == set(elmo_bench.__all__) - classes_that_functions_return


@pytest.mark.slow
def test_the_page_runs(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [quickly(block.text) for block in code_blocks(PAGE) if block.language == "python"]
    names = run_code(blocks, PAGE)
    assert len(names["wikigold"]) > 1 and not names["results"].problems
    assert names["found"].seeds == (1, 2, 3)
    assert [array.shape for array in names["layers"]] == [(3, 6, 256), (3, 3, 256)]
    assert [array.shape for array in names["mixed"]] == [(6, 256), (3, 256)]
    assert "elmo.lambda" in capsys.readouterr().out  # what the error proposes


def test_the_tokens_of_the_answer_are_those_that_it_describes() -> None:
    (block,) = (block for block in code_blocks("docs/FAQ.md") if block.language == "python")
    *imports, last = block.text.strip().splitlines()
    words = run_code(["\n".join([*imports, f"words = {last}"])], "docs/FAQ.md")["words"]
    assert words == ("Nobody", "did", "n't", "see", "the", "ship", "(", "again", ")", ".")


def test_the_notebook_shows_its_outputs_in_order() -> None:
    cells = code_cells(NOTEBOOK)
    assert [cell.executed for cell in cells] == [cell.number for cell in cells]
    outputs = list(chain.from_iterable(cell.get("outputs", []) for cell in read_notebook(NOTEBOOK)["cells"]))
    assert outputs and all(output["output_type"] != "error" for output in outputs)
    assert str(Path.home()) not in NOTEBOOK.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_notebook_runs(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone / "examples")
    names = run_code([quickly(cell.source) for cell in code_cells(NOTEBOOK)], NOTEBOOK.name)
    assert len(names["frame"]) == 9
    assert list(names["table"].index) == list(names["CONDITIONS"].values())
    assert names["table"].loc["ELMo, all layers", ["gain", "low", "high"]].notna().all()
