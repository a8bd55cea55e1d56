"""Fixtures of all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
MOST_WORKERS = 4  # each needs up to 2 GB of memory

if "PYTEST_XDIST_WORKER" in os.environ:  # the other workers have the other cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Several processes for the whole suite. What is named is run in this one, where a debugger works."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return min(os.cpu_count() or 1, MOST_WORKERS) if is_whole else 0


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
