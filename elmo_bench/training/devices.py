"""Refuse, before anything is computed, what this machine or this start of the program does not have."""

from __future__ import annotations

from elmo_bench.config import TrainerConfig
from elmo_bench.types import UsageError


def refuse_several_devices(trainer: TrainerConfig) -> None:
    """A head is trained by one process on one device; several devices serve several runs."""
    for key, count in (("devices", trainer.devices), ("nodes", trainer.nodes)):
        if count > 1:
            raise UsageError(
                f"trainer.{key}={count}: a run uses one device; give each run of a sweep its own, "
                "for example with -m hydra/launcher=parallel"
            )


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
