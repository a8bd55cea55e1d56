"""Coreference resolution (CoNLL-2012; paper A.6). Read `task` first, then `head` and its parts."""

from __future__ import annotations

from .task import CorefTask

__all__ = ["CorefTask"]
