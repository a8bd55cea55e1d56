"""Fixtures every room of the tests may use."""

from __future__ import annotations

from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The corpora, golden figures and reference weights kept beside the project, where they are."""
    path = PROJECT.parent / "shared"
    if not path.is_dir():
        pytest.skip(f"needs the shared material at {path}")
    return path
