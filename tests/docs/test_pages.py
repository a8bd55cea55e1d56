"""Links and paths on the project's pages lead somewhere."""

from __future__ import annotations

import pytest

from tests.conftest import PROJECT
from tests.support.markdown import PAGES, anchors, existing, links, named_paths, read_page

PLACEHOLDERS = {"results/runs/", "results/cache/store/"}
"""Paths that exist only after a run, and are ignored by git."""


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_heading(page: str) -> None:
    broken = []
    for target in links(read_page(page)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (PROJECT / page).parent / path if path else PROJECT / page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_is_named_exists(page: str) -> None:
    named = named_paths(read_page(page)) - PLACEHOLDERS
    assert sorted(path for path in named if not existing(path)) == []
