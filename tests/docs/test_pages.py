"""Links and paths on the project's pages lead somewhere."""

from __future__ import annotations

import re

import pytest

from tests.conftest import PROJECT
from tests.support.markdown import PAGES, anchors, existing, links, named_paths, read_page

PLACEHOLDERS = re.compile(r"(?:.*/)?(?:NAME|TASK|DIR)(?:\b|_).*|mine/.*|results/(?:runs|cache|models)/.*")
"""Paths with names to be chosen, those of the reader's own files, and those that exist only after a run."""


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
    named = {path for path in named_paths(read_page(page)) if not PLACEHOLDERS.fullmatch(path)}
    assert sorted(path for path in named if not existing(path)) == []
