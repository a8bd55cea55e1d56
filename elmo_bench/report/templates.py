"""The templates of a report: files of this package that Jinja fills in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

Filter = Callable[..., Any]


def render_page(name: str, filters: Mapping[str, Filter], **values: Any) -> str:
    """An HTML page; whatever comes from data is escaped by the engine."""
    return _render(_environment(autoescape=True), name, filters, values)


def render_text(name: str, filters: Mapping[str, Filter], **values: Any) -> str:
    """Another format, whose filters escape; its braces are text, so the marks are << >> and <% %>."""
    marks = {
        "variable_start_string": "<<",
        "variable_end_string": ">>",
        "block_start_string": "<%",
        "block_end_string": "%>",
        "comment_start_string": "<#",
        "comment_end_string": "#>",
    }
    return _render(_environment(autoescape=False, **marks), name, filters, values)


def _environment(autoescape: bool, **marks: str) -> Environment:
    return Environment(
        autoescape=autoescape,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        loader=FunctionLoader(read_packaged),
        **marks,  # type: ignore[arg-type]
    )


def _render(
    environment: Environment, name: str, filters: Mapping[str, Filter], values: dict[str, Any]
) -> str:
    environment.filters.update(filters)
    return environment.get_template(name).render(**values)


def read_packaged(name: str) -> str:
    """The text of a file of this package."""
    return (files(__package__) / name).read_text("utf-8")
