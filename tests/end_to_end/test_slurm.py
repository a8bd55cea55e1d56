"""A sweep on a real Slurm of one node, unpacked beside the test (a minute and some network)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import finish, places

SWEEP = (
    "-m",
    "+experiment=table1",
    "task=ner",
    "elmo=none",
    "limit=12",
    "task.training.epochs=1",
    "task.settings.head.word_dropout=0.3,7",
    "seed=1,2",
    "hydra/launcher=slurm",
    "hydra.launcher.mem_gb=null",  # this node does not count memory
    "hydra.launcher.cpus_per_task=1",
)


@pytest.fixture(scope="module")
def slurm(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A controller and a node on the loopback interface, where they can be had."""
    script = shared / "tools" / "slurm_local.sh"
    if not script.is_file() or not shutil.which("apt-get") or os.geteuid() != 0:
        pytest.skip("needs slurm_local.sh, apt-get and root")
    home = tmp_path_factory.mktemp("slurm")
    log = home / "start.log"
    with log.open("w") as file:  # not a pipe: the daemons would keep it open
        code = subprocess.run(["bash", str(script), str(home), "start"], stdout=file, stderr=file).returncode
    if code or not (home / "env.sh").is_file():
        pytest.skip(f"Slurm cannot be had here: {log.read_text()[-300:]}")
    yield home
    subprocess.run(["bash", str(script), str(home), "stop"], check=True)


@pytest.mark.slow
def test_a_sweep_on_slurm(slurm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for word in (slurm / "env.sh").read_text().split()[1:]:
        name, _, value = word.partition("=")
        monkeypatch.setenv(name, value.replace("$PATH", os.environ["PATH"]))
    code, output, errors = finish(*SWEEP, *places(tmp_path))
    assert code == 1, errors
    assert "4 runs: 0 done, 2 missing, 2 cannot run" in output
    assert "2 of 4 jobs done" in output
    assert output.count("failed: ") == 2
    results = sorted((tmp_path / "runs").glob("ner/*/result.json"))
    assert len(results) == 2
    code, output, errors = finish(
        *SWEEP[:6], "seed=1,2", *SWEEP[8:], "task.settings.head.word_dropout=0.3", *places(tmp_path)
    )
    assert code == 0, errors
    assert "2 runs: 2 done, 0 missing" in output
