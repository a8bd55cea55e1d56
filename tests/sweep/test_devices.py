"""What this machine does not have is refused in a line, before anything is computed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from elmo_bench.config import TrainerConfig
from elmo_bench.sweep.scripts import launch_runs, launch_training
from elmo_bench.training.devices import check_devices, check_processes
from elmo_bench.types import UsageError
from tests.support.processes import places

Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize("key", ["devices", "nodes"])
@pytest.mark.parametrize("sweep", [(), ("-m",)])
def test_a_run_on_several_devices_is_refused(
    capsys: Output, tmp_path: Path, key: str, sweep: tuple[str, ...]
) -> None:
    assert launch_runs("", ["task=ner", f"trainer.{key}=2", *sweep, *places(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        f"error: trainer.{key}=2: a run uses one device; give each run of a sweep its own"
    )
    assert "hydra/launcher=parallel" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("trainer=gpu", "trainer.accelerator=gpu: PyTorch finds no GPU; use trainer=cpu"),
        ("trainer.precision=16-mixed", "trainer.precision=16-mixed: needs a GPU"),
    ],
)
def test_a_run_without_its_gpu_is_refused(capsys: Output, tmp_path: Path, word: str, message: str) -> None:
    assert launch_runs("", ["task=ner", "elmo=none", word, *places(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}") and error.count("\n") == 1
    if word != "trainer=gpu":  # which a plan may be for another machine with
        assert launch_runs("", ["-m", "task=ner", "elmo=none", word, "plan=true", *places(tmp_path)]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param(
            "trainer=gpu",
            "trainer.accelerator=gpu: PyTorch finds no GPU",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU"),
        ),
        ("trainer.precision=bf16-mixed", "trainer.precision=bf16-mixed: is for runs of tasks"),
    ],
)
@pytest.mark.parametrize("what", ["bilm=tiny corpus={corpus}", "finetune=ner encoder=sample"])
def test_a_pretraining_without_its_device_is_refused(
    capsys: Output, tmp_path: Path, word: str, message: str, what: str
) -> None:
    for name in ("train.txt", "heldout.txt"):
        (tmp_path / name).write_text("a b c\n")
    words = [word.format(corpus=tmp_path) for word in what.split()]
    models = f"paths.models={tmp_path / 'models'}"
    assert launch_training("", [*words, word, models, *places(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}") and error.count("\n") == 1
    assert not (tmp_path / "models").exists()


def trainer(precision: str, devices: int = 1, accelerator: str = "gpu") -> TrainerConfig:
    return TrainerConfig.model_validate(
        {"accelerator": accelerator, "devices": devices, "precision": precision}
    )


def test_a_gpu_is_asked_for_its_number_and_its_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    check_devices(trainer("16-mixed", devices=2))
    check_devices(trainer("16-mixed", accelerator="auto"))
    with pytest.raises(UsageError, match=r"trainer\.devices=3: PyTorch finds 2 GPU"):
        check_devices(trainer("32-true", devices=3))
    with pytest.raises(UsageError, match="this GPU has no bfloat16"):
        check_devices(trainer("bf16-mixed"))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    check_devices(trainer("bf16-mixed"))


TORCHRUN = {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}
SBATCH = {"SLURM_NTASKS": "4", "SLURM_NTASKS_PER_NODE": "2", "SLURM_NNODES": "2"}
SRUN = SBATCH | {"SLURM_STEP_ID": "0"}


@pytest.mark.parametrize(
    ("environment", "nodes", "devices", "message"),
    [
        ({}, 1, 2, None),  # this process starts the other
        ({}, 2, 1, "start it on every machine with srun or torchrun"),
        (TORCHRUN, 2, 2, None),
        (TORCHRUN, 1, 4, r"torchrun has started 2 x 2 processes"),
        (TORCHRUN, 1, 1, r"torchrun has started 2 x 2 processes"),
        (SRUN, 2, 2, None),
        (SRUN, 2, 1, r"srun has started 2 x 2 processes"),
        (SRUN | TORCHRUN, 2, 2, None),  # torchrun inside of a job of Slurm
        ({"SLURM_NTASKS": "1"}, 1, 1, None),  # a job of a sweep
        ({"SLURM_NTASKS": "1"}, 1, 2, r"srun has started 1 x 1 processes"),
        (SBATCH, 2, 2, "has 4 tasks, but srun did not start them"),
        ({"SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"}, 2, 2, "give their number by --ntasks-per-node"),
        (SRUN | {"SLURM_JOB_NAME": "interactive"}, 1, 2, None),  # a shell on a node of the cluster
    ],
)
def test_processes_that_a_launcher_has_started_are_counted(
    environment: dict[str, str], nodes: int, devices: int, message: str | None
) -> None:
    asked = trainer("32-true", devices, "cpu").model_copy(update={"nodes": nodes})
    if message is None:
        check_processes(asked, environment)
    else:
        with pytest.raises(UsageError, match=message):
            check_processes(asked, environment)
