"""Figures for a paper: the data of the page, in files that are the same each time, without overlaps."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from elmo_bench.cli.main import main
from elmo_bench.report import printed
from elmo_bench.report.convergence import SIGN
from elmo_bench.report.figures import EXPLANATION
from elmo_bench.report.model import Figure, Forest, Gain, Gains
from elmo_bench.report.svg import Chart, HeatMap, Line, linear_axis, log_axis
from tests.report.test_report import build
from tests.support.processes import without_extras
from tests.support.report_records import NONE, make_record, publish, publish_world

SIZES = (60.0, 70.0, 600.0, 6000.0)
CHART = Chart(
    "Sample efficiency",
    (
        Line(
            f"without ELMo {SIGN}",
            tuple((size, size / 100) for size in SIZES),
            1,
            deviations=(1.0, None, 2.0, 1.0),
        ),
        Line("with ELMo", tuple((size, 20 + size / 100) for size in SIZES), 2, deviations=(1.0,) * 4),
        Line("with ELMo", ((60.0, 19.0), (600.0, 25.0)), 2, faint=True),
    ),
    log_axis("training examples", SIZES),
    linear_axis("dev f1", [0, 80]),
)
HEAT = HeatMap(
    "Layer weights",
    ("SQuAD", "SNLI", "SRL", "Coref", f"CoNLL-2003 NER {SIGN}", "SST-5", "a corpus of your own"),
    ("LSTM 2", "LSTM 1", "token layer"),
    ((0.2,) * 7, (0.7,) * 7, (0.1,) * 6 + (None,)),
)
FOREST = Forest(
    "gains",
    "Gains",
    linear_axis("points gained on test", [-5, 30]),
    (
        Gains(
            "SQuAD",
            "part",
            (
                Gain("small_open", 20.0, (18.0, 22.0), 3, ("not converged",)),
                Gain("another encoder", 1.0, (-2.0, 3.0), 3),
                Gain("ELMo in the paper", 4.7, is_paper=True),
            ),
        ),
    ),
)


def drawn(drawing: Chart | HeatMap | Forest) -> Any:
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra figures")
    with matplotlib.rc_context(printed.STYLE):
        canvas = printed.draw(drawing if isinstance(drawing, Forest) else Figure("figure", "", drawing))
        canvas.savefig("/dev/null", format="pdf")  # lays the parts out
        return canvas


def texts_of(canvas: Any) -> list[Any]:
    from matplotlib.text import Text

    found = canvas.findobj(Text)
    return [text for text in found if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("drawing", [CHART, HEAT, FOREST], ids=["chart", "heat map", "forest"])
def test_nothing_overlaps_and_nothing_is_cut_off(drawing: Chart | HeatMap | Forest) -> None:
    canvas = drawn(drawing)
    assert canvas.get_figwidth() == pytest.approx(printed.WIDTH)
    upright = [text for text in texts_of(canvas) if text.get_rotation() in (0, 90)]
    boxes = [(text.get_text(), text.get_window_extent()) for text in upright]
    for (one, first), (other, second) in combinations(boxes, 2):
        assert not first.overlaps(second), (one, other)
    for text in texts_of(canvas):
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.y0 >= -1, text.get_text()
        assert box.x1 <= canvas.bbox.x1 + 1 and box.y1 <= canvas.bbox.y1 + 1, text.get_text()


@pytest.mark.parametrize("drawing", [CHART, HEAT, FOREST], ids=["chart", "heat map", "forest"])
def test_what_is_not_converged_is_marked_and_the_mark_explained(drawing: Chart | HeatMap | Forest) -> None:
    printed_texts = [text.get_text() for text in texts_of(drawn(drawing))]
    assert f"{SIGN} {EXPLANATION}" in printed_texts
    assert sum(SIGN in text for text in printed_texts) == 2


def test_a_gain_that_is_not_converged_is_hollow() -> None:
    (axes,) = drawn(FOREST).axes
    marks = {line.get_ydata()[0]: line for line in axes.lines if line.get_marker() in ("o", "s")}
    fills = [(line.get_marker(), line.get_markerfacecolor() == "white") for _, line in sorted(marks.items())]
    assert fills == [("o", True), ("o", False), ("s", True)]


def test_the_same_report_makes_the_same_files_and_each_figure_of_the_page_is_there(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra figures")
    publish_world(tmp_path / "records")
    report = build(tmp_path / "records")
    first = printed.write_figures(report, tmp_path / "first")
    second = printed.write_figures(report, tmp_path / "second")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    count = sum(len(section.figures) + len(section.forests) for section in report.sections)
    assert len({path.name for path in first}) == len(first) == 2 * count + 1 > 3
    for path in first:
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().get("width") == f"{72 * printed.WIDTH:g}pt"
    captions = (tmp_path / "first" / "captions.txt").read_text(encoding="utf-8")
    assert re.search(r"^gains-sample: ", captions, re.MULTILINE)


def test_without_matplotlib_the_command_names_the_extra(tmp_path: Path) -> None:
    publish(tmp_path / "records", make_record("snli", 1, 20, NONE), 20)
    program = "from elmo_bench.cli.main import start\nsys.exit(start())"
    words = ["report", f"paths.records={tmp_path / 'records'}", "--output", str(tmp_path / "out")]
    code, _, errors = without_extras(program, *words, "--figures", str(tmp_path / "figures"))
    assert code == 3
    (line,) = errors.splitlines()
    assert line.startswith("error: --figures needs the package matplotlib (not installed): pip install")
    assert not (tmp_path / "out").exists()


def test_the_command_writes_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra figures")
    publish_world(tmp_path / "records")
    figures = tmp_path / "figures"
    words = [
        "report",
        f"paths.records={tmp_path / 'records'}",
        "--output",
        str(tmp_path),
        "--resamples",
        "100",
    ]
    assert main([*words, "--figures", str(figures)]) == 0
    assert f"{figures}: {len(list(figures.iterdir()))} files" in capsys.readouterr().out
