"""A report as one page that needs nothing else: no script, no network."""

from __future__ import annotations

from importlib.resources import files

from markupsafe import Markup

from elmo_bench.report.model import Report
from elmo_bench.report.templates import render_page


def write_page(report: Report) -> str:
    """index.html."""
    style = Markup((files(__package__) / "page.css").read_text("utf-8"))
    filters = {"drawn": Markup}  # our own SVG, whose labels `svg` has escaped
    return render_page("page.html", filters, report=report, style=style)
