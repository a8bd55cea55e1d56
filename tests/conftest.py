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


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose cache has the generated world; a test that writes there copies it first."""
    from tests.support.caches import make_world

    root = tmp_path_factory.mktemp("world")
    make_world(root)
    return root


@pytest.fixture(scope="session")
def sample(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the sample biLM in its smallest size."""
    from tests.support.caches import copy_cache, make_sample_model

    root = copy_cache(world, tmp_path_factory.mktemp("sample"))
    make_sample_model(root)
    return root
