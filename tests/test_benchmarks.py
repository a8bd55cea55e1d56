"""The benchmark of one run measures all of it, and every second once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.run import PARTS, Ledger, describe, summarise
from tests.conftest import PROJECT
from tests.support.processes import places


def test_an_inner_part_does_not_count_for_the_outer_one() -> None:
    start = time.perf_counter()
    ledger = Ledger()
    with ledger.part("forward"):
        time.sleep(0.02)
        with ledger.part("decoding"):
            time.sleep(0.05)
    with ledger.part("other"):
        pass
    elapsed = time.perf_counter() - start
    wall = {part: seconds[0] for part, seconds in ledger.seconds.items()}
    assert 0.02 <= wall["forward"] <= elapsed - 0.05
    assert wall["decoding"] >= 0.05
    assert 0.07 <= sum(wall.values()) <= elapsed


def test_a_run_is_measured_from_its_imports_to_its_record(tmp_path: Path) -> None:
    words = ["task=ner", "elmo=none", "words=random", "limit=20", *places(tmp_path)[1:]]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.run", *words, "--steps", "2", "--json"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert (found["task"], found["updates"], found["uncounted"]) == ("ner", 2, [])
    used = {part for part, seconds in found["seconds"].items() if seconds["processor"] > 0}
    assert used == set(PARTS) - {"store"} | ({"store"} & used)
    assert found["operations_per_step"] > 0
    assert 0 < found["gflops"] < found["limit_gflops"]
    assert "ner sample" in describe(found)
    assert summarise([found | {"column": "open"}]).count("\n") == 2
