"""The biLM and its softmax as something Lightning can train: one step, one optimiser, nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmConfig, DescentConfig
from elmo_bench.bilm.training.arithmetic import Arithmetic
from elmo_bench.bilm.training.batches import TextBatch
from elmo_bench.bilm.training.objective import Softmax, draw_negatives, full_loss, sampled_loss
from elmo_bench.bilm.training.step_input import Carried, CharacterTable, StepInput, as_tensors, top_outputs
from elmo_bench.training.lightning import pl
from elmo_bench.types import BenchError


class PretrainingModule(pl.LightningModule):
    """A biLM with its softmax; every random number of a step is a function of the seed and the step."""

    def __init__(
        self, bilm: BiLM, softmax: Softmax, config: BilmConfig, steps: int, seed: int, table: CharacterTable
    ) -> None:
        super().__init__()
        self.bilm, self.softmax = bilm, softmax
        self.config, self.steps, self.seed = config, steps, seed
        self.table = table
        self.arithmetic = choose_arithmetic(config)
        self.carried: Carried | None = None
        # Summed by direction since the last row of the curve.
        self.losses = torch.zeros(2, dtype=torch.float64)
        self.predictions = 0
        self.is_writer = True  # one process of several writes the model

    def transfer_batch_to_device(
        self, batch: TextBatch, device: torch.device, dataloader_idx: int
    ) -> StepInput:
        return as_tensors(batch, self.table).to(device)

    def training_step(self, batch: StepInput, _: int) -> Tensor:
        torch.manual_seed(step_seed(self.seed, self.global_step, self.global_rank))
        if not batch.directions[0].counts:  # no row of this batch is ours; the others wait for gradients
            return torch.stack([parameter.sum() for parameter in self.parameters()]).sum() * 0.0
        dropout = self.config.dropout
        outputs, states = top_outputs(self.bilm, batch, self.carried, dropout, self.arithmetic)
        if self.config.batches.kind == "streams":
            self.carried = states
        loss, shares = self.loss(outputs, torch.cat([d.targets for d in batch.directions]))
        if not torch.isfinite(loss):
            raise BenchError(
                f"step {self.global_step}: expected a finite training loss, got {float(loss)}; "
                "lower bilm.descent.lr or bilm.descent.clip"
            )
        self.losses += shares.view(2, -1).double().sum(dim=1).cpu()
        self.predictions += len(shares) // 2
        # Each process has the sum over its rows, and Lightning averages the gradients of the processes.
        mean = loss * (self.trainer.world_size / (2 * batch.predictions))
        return mean * self.config.descent.loss_scale

    def loss(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Summed cross-entropy, sampled where negatives are asked for."""
        seed = [self.seed, self.global_step]
        return summed_loss(self.config, self.softmax, outputs, targets, seed, self.arithmetic)

    def take_losses(self) -> tuple[list[float], int]:
        """The losses by direction over all processes since the last call, and of how many predictions."""
        totals = torch.cat([self.losses, torch.tensor([float(self.predictions)])]).to(self.device)
        if self.trainer.world_size > 1:
            totals = cast(Tensor, self.trainer.strategy.reduce(totals, reduce_op="sum"))
        self.losses, self.predictions = torch.zeros_like(self.losses), 0
        forward, backward, predictions = totals.tolist()
        return [forward, backward], int(predictions)

    def configure_optimizers(self) -> Any:
        optimiser = build_optimiser(self.config.descent, self.parameters())
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, self.rate)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def rate(self, step: int) -> float:
        """The learning rate of a step as a share of its peak."""
        descent = self.config.descent
        if step < descent.warmup:
            return (step + 1) / (descent.warmup + 1)
        if descent.schedule == "constant":
            return 1.0
        done = (step - descent.warmup) / max(1, self.steps - descent.warmup)
        return 0.5 + 0.5 * float(np.cos(np.pi * min(1.0, done)))

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["since_last_row"] = {"losses": self.losses, "predictions": self.predictions}
        checkpoint["carried"] = self._gathered() if self.carried else None

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        since = checkpoint["since_last_row"]
        self.losses, self.predictions = since["losses"], since["predictions"]
        if checkpoint["carried"] is not None:
            rank, world = self.global_rank, self.trainer.world_size
            self.carried = [
                [(h[rank::world].clone(), c[rank::world].clone()) for h, c in states]
                for states in checkpoint["carried"]
            ]

    def _gathered(self) -> Carried:
        """The carried states of all processes, rows in global order."""
        assert self.carried is not None

        def gather(tensor: Tensor) -> Tensor:
            if self.trainer.world_size == 1:
                return tensor
            parts = cast(Tensor, self.all_gather(tensor))  # (processes, rows, width)
            return parts.transpose(0, 1).reshape(-1, tensor.shape[1])

        return [[(gather(h), gather(c)) for h, c in states] for states in self.carried]


def build_optimiser(descent: DescentConfig, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """The optimiser that the configuration names."""
    if descent.optimiser == "adagrad":
        return torch.optim.Adagrad(
            parameters, descent.lr, initial_accumulator_value=descent.initial_accumulator
        )
    return torch.optim.Adam(parameters, descent.lr, fused=True)


def step_seed(seed: int, step: int, rank: int) -> int:
    """The seed of a step's dropout."""
    return int(np.random.SeedSequence([seed, step, rank]).generate_state(1, np.uint64)[0] >> 1)


def summed_loss(
    config: BilmConfig,
    softmax: Softmax,
    outputs: Tensor,
    targets: Tensor,
    seed: Sequence[int],
    arithmetic: Arithmetic,
) -> tuple[Tensor, Tensor]:
    """Cross-entropy as a configuration has it: over sampled words, or over the whole vocabulary."""
    vocabulary = len(softmax.bias)
    if not samples_negatives(config, vocabulary):
        return full_loss(softmax, outputs, targets, arithmetic)
    negatives = draw_negatives(config.negatives, vocabulary, seed)
    return sampled_loss(softmax, outputs, targets, negatives, arithmetic)


def samples_negatives(config: BilmConfig, vocabulary: int) -> bool:
    """Whether the softmax is sampled: the full one costs little more than half of all words as negatives."""
    return 0 < config.negatives <= vocabulary // 2


def choose_arithmetic(config: BilmConfig) -> Arithmetic:
    """How a configuration has matrices multiplied on this machine."""
    return Arithmetic(product_dtype(config), config.arithmetic == "fast")


def product_dtype(config: BilmConfig) -> torch.dtype | None:
    """What matrices are multiplied in; None leaves them as they are."""
    if config.products == "bfloat16" or (config.products == "auto" and has_bfloat16()):
        return torch.bfloat16
    return None


def has_bfloat16() -> bool:
    """Whether this machine multiplies bfloat16 in hardware."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu._is_avx512_bf16_supported())
