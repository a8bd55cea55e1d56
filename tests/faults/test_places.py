"""Places that cannot be written, and files that the system does not let grow: named, with what to do."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.support.caches import copy_cache
from tests.support.processes import places, start

RUN = ("task=ner", "elmo=none", "limit=12", "task.training.epochs=1", "trainer.threads=1")
UNWRITABLE = Path("/proc")  # nobody can create a file there, not even root


@pytest.fixture(scope="module")
def root(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_cache(world, tmp_path_factory.mktemp("places"))


@pytest.mark.skipif(not UNWRITABLE.is_dir(), reason="this system has no /proc")
def test_a_sweep_writes_only_where_its_paths_lead(root: Path) -> None:
    words = [str(PROJECT / "run.py"), "-m", *RUN, *places(root)]
    done = subprocess.run([sys.executable, *words], cwd=UNWRITABLE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 jobs done" in done.stdout


@pytest.mark.parametrize(("limit", "name"), [(2_000, "cache/world/v"), (20_000, "checkpoints/step-0")])
def test_a_file_that_may_not_grow_is_named_by_its_final_name(root: Path, limit: int, name: str) -> None:
    cache = root / "cache" if "cache" not in name else root / "other" / "cache"
    process = start(*RUN, "seed=2", *places(root, cache=cache))
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    (line,) = errors.splitlines()
    assert f"/{name}" in line and ".tmp" not in line
    assert line.endswith(
        "file too large; raise the limit of the size of files (ulimit -f); "
        "then run the same command again to resume"
    )
