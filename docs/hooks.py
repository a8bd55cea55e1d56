"""What MkDocs needs to read pages that are written for GitHub."""

from __future__ import annotations

import re
from typing import Any

FILE_BLOCK = re.compile(r"^```(\w+) +(\S+)$", re.MULTILINE)
"""The first line of a code block with the name of its file, which Markdown in Python does not know."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the name of a file above its block, unless the paragraph there has it."""
    return FILE_BLOCK.sub(_name_above, markdown)


def _name_above(block: re.Match[str]) -> str:
    language, name = block.groups()
    paragraph = block.string[: block.start()].rstrip().rpartition("\n\n")[2]
    return f"```{language}" if f"`{name}`" in paragraph else f"`{name}`:\n\n```{language}"
