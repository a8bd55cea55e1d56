"""The templates of a report: files of this package that Jinja fills in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

Filter = Callable[..., Any]


def load_page(name: str, filters: Mapping[str, Filter]) -> Template:
    """An HTML page to fill in, once or for many conditions; the engine escapes whatever comes from data."""
    return _load(_environment(autoescape=True), name, filters)


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
    return _load(_environment(autoescape=False, **marks), name, filters).render(**values)


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


def _load(environment: Environment, name: str, filters: Mapping[str, Filter]) -> Template:
    environment.filters.update(filters)
    return environment.get_template(name)


def read_packaged(name: str) -> str:
    """The text of a file of this package."""
    return (files(__package__) / name).read_text("utf-8")
