"""A sweep in one process: what one run needs is freed before the next."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest

from elmo_bench.training.memory import pause_collection
from tests.conftest import PROJECT
from tests.support.processes import places

RUNS, WARM_UP, MOST_GROWTH = 200, 20, 50  # in MB
PROGRAM = """
import json, os, sys
from elmo_bench.sweep.scripts import launch_runs

def resident():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

words, warm_up, runs = json.loads(sys.argv[1])
sizes = []
for first, end in ((1, warm_up + 1), (warm_up + 1, runs + 1)):
    seeds = ",".join(map(str, range(first, end)))
    assert launch_runs("", ["-m", *words, f"seed={seeds}"]) == 0
    sizes.append(resident())
print(json.dumps(sizes))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    ("task", "chosen"),
    [("sst5", ("elmo=none", "task.training.epochs=1")), ("ner", ("debug=fast", "encoder=untrained"))],
)
def test_two_hundred_runs_in_one_process_need_no_more_memory_than_a_few(
    task: str, chosen: tuple[str, ...], tmp_path: Path
) -> None:
    words = [f"task={task}", *chosen, "words=random", "limit=20", *places(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([words, WARM_UP, RUNS])],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    early, late = json.loads(done.stdout.splitlines()[-1])
    assert late - early < MOST_GROWTH
    assert len(list(tmp_path.glob(f"runs/{task}/*/result.json"))) == RUNS


def test_the_search_for_garbage_is_resumed_whatever_happens() -> None:
    with pytest.raises(ValueError, match="something"), pause_collection():
        assert not gc.isenabled()
        raise ValueError("something")
    assert gc.isenabled()
