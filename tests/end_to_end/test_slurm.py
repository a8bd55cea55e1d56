"""Sweeps and pre-training on a real Slurm of one node, unpacked here (minutes and some network)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.support.composition import pretrain_one, pretraining
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
PRETRAINING = (
    "bilm=tiny",
    "bilm.steps=50",
    "bilm.dropout=0",  # whose random numbers differ by process
    "bilm.batches.tokens=50",
    "trainer.threads=1",
)
TWO_PROCESSES = (
    "trainer.devices=2",
    "hydra/launcher=slurm",
    "hydra.launcher.tasks_per_node=2",
    "hydra.launcher.mem_gb=null",
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
        start = ["bash", str(script), str(home), "start"]
        code = subprocess.run(start, stdout=file, stderr=file, env=counting_all_cores()).returncode
    if code or not (home / "env.sh").is_file():
        pytest.skip(f"Slurm cannot be had here: {log.read_text()[-300:]}")
    yield home
    subprocess.run(["bash", str(script), str(home), "stop"], check=True)


def counting_all_cores() -> dict[str, str]:
    """Without a variable that `nproc`, of which the node learns its size, takes for the number of cores."""
    return {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}


@pytest.fixture
def cluster(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment in which Slurm's commands are found."""
    for word in (slurm / "env.sh").read_text().split()[1:]:
        name, _, value = word.partition("=")
        monkeypatch.setenv(name, value.replace("$PATH", os.environ["PATH"]))


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_sweep_on_slurm(tmp_path: Path) -> None:
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


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
@pytest.mark.usefixtures("cluster")
def test_two_processes_of_slurm_pretrain_as_one_does_and_resume(tmp_path: Path) -> None:
    for name in ("train.txt", "heldout.txt"):
        lines = (f"word{number} is not word{number * number % 7}" for number in range(200))
        (tmp_path / name).write_text("\n".join(lines))
    settings = [f"corpus={tmp_path}", *PRETRAINING]
    pretrain_one(pretraining(tmp_path / "1", *settings))
    models = f"paths.models={tmp_path / '2' / 'models'}"
    for limit, result in (("20", "1 of 1 jobs done"), ("null", "1 of 1 jobs done")):
        words = ["-m", *settings, models, *places(tmp_path / "2"), *TWO_PROCESSES, f"limits.steps={limit}"]
        code, output, errors = finish(*words, script="pretrain.py")
        assert code == 0, errors
        assert result in output
    alone, together = (load_file(tmp_path / count / "models/tiny/weights.safetensors") for count in "12")
    for name, weights in alone.items():
        np.testing.assert_allclose(together[name], weights, rtol=0, atol=1e-5, err_msg=name)
