"""Question answering on paragraphs (SQuAD v1.1; paper A.4). Read `task` first, then `head` and its parts."""

from __future__ import annotations

from .task import SquadTask

__all__ = ["SquadTask"]
