"""What the page links to: the runs of every condition, and large drawings, in small pages of their own.

So the page stays small however many runs there are. All of it opens from a file: plain links, no script.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from elmo_bench.files import is_plain_file, remove
from elmo_bench.report.chapters import divide
from elmo_bench.report.details import conditions_of
from elmo_bench.report.labels import name_apart
from elmo_bench.report.model import Details, Report, Section
from elmo_bench.report.templates import load_page, read_packaged

DIRECTORY = "details"  # beside index.html
STYLE = "page.css"
MARK = '<meta name="generator" content="elmo_bench report">'  # what tells a page of ours from other files
HEAD = 200  # characters in which the mark stands


def write_details(report: Report, directory: Path = Path()) -> Iterator[tuple[str, str]]:
    """Names and contents of the files in DIRECTORY; links to records are relative to where these will lie."""
    place = directory / DIRECTORY
    beside = {"beside": lambda path: Path(os.path.relpath(path, place)).as_posix()}
    condition, drawings = load_page("condition.html", beside), load_page("drawings.html", {})
    yield STYLE, read_packaged(STYLE)
    for one in report.details.conditions:
        pairs = [pair for pair in report.details.pairs if pair.after == one.condition]
        yield f"{one.condition}.html", condition.render(one=one, pairs=pairs, mark=MARK, style=STYLE)
    for section in report.sections:
        if section.is_apart and section.figures:
            (chapter,) = divide([section])
            page = drawings.render(chapter=chapter, anchors=anchors_of([section]), mark=MARK, style=STYLE)
            yield f"{section.name}.html", page


def remove_outdated(directory: Path, written: Collection[str]) -> None:
    """Delete the pages that an earlier report wrote and this one did not; other files stay."""
    for path in directory.glob("*.html"):
        if path.name not in written and is_plain_file(path) and is_ours(path):
            remove(path)


def is_ours(path: Path) -> bool:
    """Whether a report wrote this file."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return MARK in file.read(HEAD)


Addresses = Mapping[tuple[str, ...], str]


def addresses_of(details: Details) -> Addresses:
    """Where the runs of one condition are shown, or those of two that are compared, the baseline last."""
    addresses: dict[tuple[str, ...], str] = {}
    for one in details.conditions:
        addresses[one.condition,] = f"{DIRECTORY}/{one.condition}.html"
    for pair in details.pairs:
        addresses[pair.after, pair.before] = f"{DIRECTORY}/{pair.after}.html#{pair.before}"
    return addresses


def find_address(runs: Iterable[str], addresses: Addresses) -> str:
    """Where a cell leads: to its two conditions or to its first; empty where there is nothing."""
    conditions = conditions_of(runs)
    return addresses.get(conditions) or addresses.get(conditions[:1], "")


def anchors_of(sections: Iterable[Section]) -> dict[str, str]:
    """The place of every drawing in the page of its section, by caption."""
    captions = [figure.caption for section in sections if section.is_apart for figure in section.figures]
    return dict(zip(captions, name_apart(captions), strict=True))
