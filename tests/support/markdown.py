"""Read the project's Markdown pages: tables, code blocks, links, and the paths they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import PROJECT

PAGES = (
    "README.md",
    "CHANGELOG.md",
    *sorted(f"docs/{path.name}" for path in (PROJECT / "docs").glob("*.md")),
)


@dataclass(frozen=True)
class Block:
    """One fenced code block."""

    page: str
    line: int
    language: str
    info: str  # the rest of the opening line, such as a file name
    text: str


def read_page(page: str) -> str:
    """The text of a page by its path in the repository."""
    return (PROJECT / page).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The lines below a second-level heading, up to the next one."""
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section {heading!r}"
    return found[1]


def table_rows(text: str) -> list[tuple[str, ...]]:
    """The cells of all table rows, headers and rules included."""
    lines = (line.strip() for line in text.splitlines())
    return [
        tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line[1:-1]))
        for line in lines
        if line.startswith("|") and line.endswith("|")
    ]


def code_blocks(page: str) -> Iterator[Block]:
    """The fenced code blocks of a page, in order."""
    pattern = re.compile(r"^```(\w*)[ ]*(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    text = read_page(page)
    for found in pattern.finditer(text):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2], found[3])


def links(text: str) -> list[str]:
    """The targets of all links."""
    return re.findall(r"\]\(([^)\s]+)\)", without_code(text))


def without_code(text: str) -> str:
    """The text without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def named_paths(text: str) -> set[str]:
    """Repository paths in backticks: a directory with a closing slash, or a file with a known ending."""
    spans = re.findall(r"`([^`\n]+)`", without_code(text))
    pattern = re.compile(
        r"(?:[\w.-]+/)+(?:[\w.-]+\.(?:py|yaml|md|toml|html|json|txt|csv|tex|svg|safetensors|ipynb))?"
    )
    return {span for span in spans if pattern.fullmatch(span)}


def existing(path: str) -> bool:
    """Whether a path exists in the repository."""
    return (PROJECT / Path(path)).exists()
