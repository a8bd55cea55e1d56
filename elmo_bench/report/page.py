"""A report as one page that needs nothing else: no script, no network."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from elmo_bench.report.model import Report


def write_page(report: Report) -> str:
    """index.html; whatever comes from data is escaped by the template's engine."""
    room = files(__package__)
    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["drawn"] = Markup  # our own SVG, whose labels `svg` has escaped
    template = environment.from_string((room / "page.html").read_text("utf-8"))
    return template.render(report=report, style=Markup((room / "page.css").read_text("utf-8")))
