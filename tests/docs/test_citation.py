"""CITATION.cff keeps to version 1.2.0 of the format; the package's metadata say the same."""

from __future__ import annotations

import tomllib
from typing import Any

import yaml

from elmo_bench import __version__
from tests.conftest import PROJECT

CITATION: dict[str, Any] = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
PACKAGE: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# The fields of the schema of version 1.2.0 that this file may use, with their types.
TOP = {
    "cff-version": str,
    "message": str,
    "type": str,
    "title": str,
    "version": str,
    "authors": list,
    "abstract": str,
    "keywords": list,
    "references": list,
    "repository-code": str,
    "url": str,
    "date-released": str,
    "license": str,
}
REFERENCE = {
    "type": str,
    "title": str,
    "authors": list,
    "collection-title": str,
    "year": int,
    "start": int,
    "end": int,
    "publisher": dict,
    "doi": str,
    "url": str,
}
PERSON = {"family-names", "given-names"}


def wrong_fields(values: dict[str, Any], fields: dict[str, type]) -> list[str]:
    return [key for key, value in values.items() if not isinstance(value, fields.get(key, type(None)))]


def test_every_field_is_one_of_the_format() -> None:
    assert wrong_fields(CITATION, TOP) == []
    assert all(wrong_fields(reference, REFERENCE) == [] for reference in CITATION["references"])


def test_what_the_format_requires_is_there() -> None:
    assert {"cff-version", "message", "title", "authors"} <= CITATION.keys()
    assert CITATION["cff-version"] == "1.2.0" and CITATION["type"] in ("software", "dataset")
    assert all({"type", "title", "authors"} <= reference.keys() for reference in CITATION["references"])


def test_authors_are_persons_or_entities() -> None:
    works = [CITATION, *CITATION["references"]]
    authors = [author for work in works for author in work["authors"]]
    assert [author for author in authors if set(author) not in (PERSON, {"name"})] == []


def test_the_package_says_the_same() -> None:
    assert CITATION["version"] == __version__
    assert PACKAGE["authors"] == CITATION["authors"]
    assert PACKAGE["keywords"] == CITATION["keywords"]
    assert set(PACKAGE["urls"].values()) == {reference["url"] for reference in CITATION["references"]}


def test_the_paper_is_the_reference() -> None:
    assert [reference["doi"] for reference in CITATION["references"]] == ["10.18653/v1/N18-1202"]
