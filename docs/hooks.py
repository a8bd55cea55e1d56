"""What MkDocs needs to read pages that are written for GitHub."""

from __future__ import annotations

import re
from typing import Any

FILE_BLOCK = re.compile(r"^```(\w+) +(\S+)$", re.MULTILINE)
"""The first line of a code block with the name of its file, which Markdown in Python does not know."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the name of a file above its block."""
    return FILE_BLOCK.sub(r"`\2`:\n\n```\1", markdown)
