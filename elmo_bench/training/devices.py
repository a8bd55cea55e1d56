"""Refuse, before anything is computed, what this machine or this start of the program does not have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from elmo_bench.config import TrainerConfig
from elmo_bench.types import UsageError

PAGE = "docs/MACHINES.md has the commands"


class Started(NamedTuple):
    """The processes of one training that a launcher outside of this program has started."""

    launcher: str
    nodes: int
    per_node: int


def refuse_impossible(trainer: TrainerConfig) -> None:
    """What no machine can do for a head, by the settings alone, so that a plan says it too."""
    for key, count in (("devices", trainer.devices), ("nodes", trainer.nodes)):
        if count > 1:
            raise UsageError(
                f"trainer.{key}={count}: a run uses one device; give each run of a sweep its own, "
                "for example with -m hydra/launcher=parallel"
            )
    if trainer.precision == "16-mixed" and trainer.accelerator == "cpu":
        raise UsageError("trainer.precision=16-mixed: needs a GPU; a processor has bf16-mixed and 32-true")


def refuse_mixed_precision(trainer: TrainerConfig) -> None:
    """Pre-training reads bilm.products, so another key must not seem to decide."""
    if trainer.precision != "32-true":
        raise UsageError(
            f"trainer.precision={trainer.precision}: is for runs of tasks; a biLM is trained with "
            "bilm.products=bfloat16"
        )


def check_devices(trainer: TrainerConfig) -> None:
    """The accelerator, the number of GPUs and the precision."""
    import torch  # only now: what is above needs no PyTorch, which takes seconds to import

    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    uses_gpu = trainer.accelerator == "gpu" or (trainer.accelerator == "auto" and found > 0)
    if uses_gpu and not found:
        raise UsageError("trainer.accelerator=gpu: PyTorch finds no GPU; use trainer=cpu")
    if uses_gpu and trainer.devices > found:
        raise UsageError(f"trainer.devices={trainer.devices}: PyTorch finds {found} GPU on this machine")
    if trainer.precision == "16-mixed" and not uses_gpu:
        raise UsageError("trainer.precision=16-mixed: needs a GPU; a processor has bf16-mixed and 32-true")
    if (
        trainer.precision == "bf16-mixed"
        and uses_gpu
        and not torch.cuda.is_bf16_supported(including_emulation=False)
    ):
        raise UsageError("trainer.precision=bf16-mixed: this GPU has no bfloat16; use 16-mixed or 32-true")


def check_processes(trainer: TrainerConfig, environment: Mapping[str, str] = os.environ) -> None:
    """As many processes as nodes and devices; a training with too few would wait for the others."""
    started = find_started(environment)
    asked = f"trainer.nodes={trainer.nodes} trainer.devices={trainer.devices}"
    if started is None:
        if trainer.nodes > 1:
            raise UsageError(f"{asked}: start it on every machine with srun or torchrun; {PAGE}")
    elif (started.nodes, started.per_node) != (trainer.nodes, trainer.devices):
        raise UsageError(
            f"{asked}: {started.launcher} has started {started.nodes} x {started.per_node} processes "
            f"(nodes x processes of each); {PAGE}"
        )


def is_one_of_several() -> bool:
    """Whether a launcher has started further processes for the same training."""
    started = find_started()
    return started is not None and started.nodes * started.per_node > 1


def find_started(environment: Mapping[str, str] = os.environ) -> Started | None:
    """What srun or torchrun has started; None if this process starts the others of its machine itself."""
    if "TORCHELASTIC_RUN_ID" in environment:
        per_node = int(environment["LOCAL_WORLD_SIZE"])
        return Started("torchrun", int(environment["WORLD_SIZE"]) // per_node, per_node)
    is_interactive = environment.get("SLURM_JOB_NAME") in ("bash", "interactive")  # as Lightning decides
    if "SLURM_NTASKS" in environment and not is_interactive:
        tasks, nodes = int(environment["SLURM_NTASKS"]), int(environment.get("SLURM_NNODES", 1))
        if tasks > 1 and "SLURM_STEP_ID" not in environment:
            raise UsageError(f"this job of Slurm has {tasks} tasks, but srun did not start them; {PAGE}")
        if tasks > 1 and "SLURM_NTASKS_PER_NODE" not in environment:
            raise UsageError(f"srun has started {tasks} processes: give their number by --ntasks-per-node")
        return Started("srun", nodes, int(environment.get("SLURM_NTASKS_PER_NODE", 1)))
    return None
