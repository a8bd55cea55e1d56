"""The Lightning module of every task: it connects injection, head and optimiser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from elmo_bench.config import OptimiserConfig, TrainingConfig
from elmo_bench.encoders.injection import Injection
from elmo_bench.runs.batches import seed_at
from elmo_bench.tensors import Batch, Head, HeadOutput, cut_batch, share_parts
from elmo_bench.training.lightning import pl
from elmo_bench.types import BenchError, Prediction

Scorer = Callable[[list[Prediction]], float]
"""Maps the dev predictions, in file order, to the dev score."""


class TaskModule(pl.LightningModule):
    """Fit one head on frozen representations."""

    def __init__(
        self,
        head: Head,
        injection: Injection,
        settings: TrainingConfig,
        lam: float,
        seed: int,
        parts: int = 1,  # of a batch, computed one after the other
    ) -> None:
        super().__init__()
        assert isinstance(head, nn.Module)
        self.head = head
        self.injection = injection
        self._settings = settings
        self._lam = lam
        self._seed = seed
        self._parts = parts
        self._losses: list[Tensor] = []
        self.dev_predictions: list[Prediction] = []  # batch after batch

    def forward(self, batch: Batch) -> HeadOutput:
        output: HeadOutput = self.head(self.injection(batch.streams), batch)
        return output

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Dropout masks are a function of the step, so a resumed run draws the same ones.
        torch.manual_seed(seed_at(self._seed, self.global_step))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        return self._loss(batch) if self._parts == 1 else self._accumulate(cut_batch(batch, self._parts))

    def _accumulate(self, parts: list[Batch]) -> Tensor:
        """The loss of a batch; of its gradient only the last part is left to compute."""
        self.zero_grad()
        *shares, last = share_parts(self.head, parts)
        done = torch.zeros((), device=self.device)
        for part, share in zip(parts, shares, strict=False):
            loss = self._loss(part) * share
            with torch.autocast(self.device.type, enabled=False):
                self.trainer.strategy.backward(loss, None)
            done += loss.detach()
        return self._loss(parts[-1]) * last + done

    def optimizer_zero_grad(self, *arguments: Any) -> None:
        """Lightning calls this after `training_step`, where parts have left their gradients."""
        if self._parts == 1:
            super().optimizer_zero_grad(*arguments)

    def _loss(self, batch: Batch) -> Tensor:
        loss: Tensor = self(batch).loss + self._lam * self.injection.penalty()
        if not torch.isfinite(loss):
            raise BenchError(
                f"step {self.global_step}: expected a finite training loss, got {float(loss.detach())}; "
                "lower task.training.optimiser.lr, or clip gradients by task.training.clip"
            )
        return loss

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: Any = None, gradient_clip_algorithm: Any = None
    ) -> None:
        clip = self._settings.clip
        if clip.by == "norm":
            clip_grad_norm_(self.parameters(), clip.at)
        elif clip.by == "value":
            clip_grad_value_(self.parameters(), clip.at)

    def configure_optimizers(self) -> Any:
        parameters = [parameter for parameter in self.parameters() if parameter.requires_grad]
        optimiser = build_optimiser(self._settings.optimiser, parameters)
        if self._settings.schedule != "staircase":
            return optimiser
        decay, every = self._settings.decay, self._settings.decay_every
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: decay ** (step // every))
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def on_validation_epoch_start(self) -> None:
        self.dev_predictions = []

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.dev_predictions.extend(self.predict_step(batch, batch_idx))

    def predict_step(self, batch: Batch, batch_idx: int) -> list[Prediction]:
        head: Head = self.head
        return head.decode(self(batch), batch)

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        return move_batch(batch, device)


def build_optimiser(config: OptimiserConfig, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """The optimisers of the paper's task models."""
    decay = config.weight_decay
    if config.name == "adam":
        # one pass over all parameters; on GPUs it would scale gradients itself, before they are clipped
        fused = all(parameter.device.type == "cpu" for parameter in parameters)
        return torch.optim.Adam(parameters, lr=config.lr, eps=config.eps, weight_decay=decay, fused=fused)
    if config.name == "adagrad":
        return torch.optim.Adagrad(parameters, lr=config.lr, eps=config.eps, weight_decay=decay)
    return torch.optim.Adadelta(parameters, lr=config.lr, rho=config.rho, eps=config.eps, weight_decay=decay)


def move_batch(batch: Batch, device: torch.device) -> Batch:
    """The same batch on another device."""

    def move(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: tensor.to(device) for name, tensor in tensors.items()}

    streams = {
        name: replace(stream, layers=stream.layers.to(device), mask=stream.mask.to(device))
        for name, stream in batch.streams.items()
    }
    return replace(batch, streams=streams, fields=move(batch.fields))
