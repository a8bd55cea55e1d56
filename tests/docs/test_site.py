"""The site of docs/ has every page, and MkDocs builds it without a warning."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.hooks import on_page_markdown
from tests.conftest import PROJECT
from tests.support.markdown import PAGES, links, read_page

SITE: dict[str, Any] = yaml.safe_load((PROJECT / "mkdocs.yml").read_text(encoding="utf-8"))
OVERVIEW = "docs/README.md"


def pages_of(entries: list[Any]) -> Iterator[str]:
    """The files that a part of the navigation names."""
    for entry in entries:
        for target in entry.values():
            yield from pages_of(target) if isinstance(target, list) else [target]


def test_every_page_is_in_the_navigation_and_on_the_overview() -> None:
    pages = {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")}
    assert sorted(pages_of(SITE["nav"])) == sorted(pages)
    assert {target for target in links(read_page(OVERVIEW)) if target.endswith(".md")} == pages - {
        "README.md"
    }


def test_pages_link_to_pages_only() -> None:
    """What lies outside of docs/ is not on the site; its path stands in backticks."""
    for page in PAGES:
        if page.startswith("docs/"):
            outside = [target for target in links(read_page(page)) if target.startswith("../")]
            assert outside == [], page


def test_the_name_of_a_file_stands_above_its_block() -> None:
    page = "text\n\n```python mine/mood.py\nx = 1\n```\n\n```bash\nls\n```\n"
    expected = "text\n\n`mine/mood.py`:\n\n```python\nx = 1\n```\n\n```bash\nls\n```\n"
    assert on_page_markdown(page, config=None) == expected
    assert on_page_markdown(expected.replace("```python", "```python mine/mood.py")) == expected


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in pages_of(SITE["nav"]):
        name = "index.html" if page == "README.md" else page.replace(".md", ".html")
        content = (tmp_path / "site" / name).read_text(encoding="utf-8")
        assert "```" not in content, f"{page}: a block of code was not understood"
        assert '<script src="http' not in content and 'href="http' not in content.split("</head>")[0]
