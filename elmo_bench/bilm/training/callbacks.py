"""What goes on beside the steps of pre-training: the curve, the progress bar, checkpoints, stopping."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import exp
from typing import Any

import torch
from torch import Tensor

from elmo_bench.bilm.settings import LimitsConfig
from elmo_bench.bilm.training.module import PretrainingModule
from elmo_bench.bilm.training.perplexity import Figures
from elmo_bench.training.checkpoints import CheckpointDirectory
from elmo_bench.training.lightning import pl
from elmo_bench.training.progress import Meter
from elmo_bench.training.stopping import StopRequest
from elmo_bench.types import InterruptedRunError, Log

SMOOTHING = 0.98  # of the training loss that is shown


class Curve(pl.Callback):
    """Every so many steps one row: the training loss since the last, and perplexity on held-out text.

    With patience, the row with the lowest perplexity decides the weights, and training stops when that many
    rows in succession have not been lower, but not within the first epoch.
    """

    def __init__(
        self,
        every: int,
        patience: int | None,
        steps_of_first_epoch: int,
        measure: Callable[[], Figures],
        log: Log,
    ) -> None:
        self._every, self._patience, self._first_epoch = every, patience, steps_of_first_epoch
        self._measure, self._log = measure, log
        self._clock = time.monotonic()
        self._seconds_before = 0.0  # in earlier sessions
        self.rows: list[dict[str, float]] = []
        self.tokens = 0  # of one direction, sentence ends included
        self.best_row: int | None = None  # with patience
        self.best_state: dict[str, Tensor] = {}

    @property
    def is_exhausted(self) -> bool:
        """Whether patience has run out."""
        if self._patience is None or self.best_row is None or self.rows[-1]["step"] < self._first_epoch:
            return False
        return len(self.rows) - 1 - self.best_row >= self._patience

    @property
    def seconds(self) -> float:
        """Training time over all sessions."""
        return self._seconds_before + time.monotonic() - self._clock

    def state_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "best_row": self.best_row,
            "best_state": self.best_state,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows, self.tokens = state_dict["rows"], state_dict["tokens"]
        self._seconds_before = state_dict["seconds"]
        self.best_row, self.best_state = state_dict["best_row"], state_dict["best_state"]
        self._clock = time.monotonic()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        trainer.should_stop = trainer.should_stop or self.is_exhausted  # of a resumed training

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, PretrainingModule)
        self.tokens += batch.predictions
        step = trainer.global_step
        if step % self._every != 0 and step < pl_module.steps:
            return
        losses, predictions = pl_module.take_losses()
        perplexity = self._measure()
        row = {
            "step": float(step),
            "tokens": float(self.tokens),
            "loss_forward": losses[0] / predictions,
            "loss_backward": losses[1] / predictions,
            "heldout_forward": perplexity.forward,
            "heldout_backward": perplexity.backward,
            "heldout_average": perplexity.average,
            "seconds": round(self.seconds, 1),
        }
        self.rows.append(row)
        if trainer.is_global_zero:
            self._log(
                f"step {step}: {self.tokens / 1e6:.2f} M tokens, training loss "
                f"{(row['loss_forward'] + row['loss_backward']) / 2:.3f}, "
                f"perplexity on part of the held-out text {perplexity.average:.1f}"
            )
        if self._patience is not None:
            self._select(pl_module)
            trainer.should_stop = trainer.should_stop or self.is_exhausted

    def _select(self, module: PretrainingModule) -> None:
        """Keep the weights of the newest row if it is the best so far."""
        values = [row["heldout_average"] for row in self.rows]
        if self.best_row is None or values[-1] < values[self.best_row]:
            self.best_row = len(values) - 1
            self.best_state = {name: value.detach().clone() for name, value in module.state_dict().items()}


class Progress(pl.Callback):
    """Steps, rate, loss and the time to the end or to a limit."""

    def __init__(self, limits: LimitsConfig, log: Log) -> None:
        self._limits, self._log = limits, log
        self._meter: Meter | None = None  # of the first process
        self._loss: float | None = None
        self._start = 0.0
        self._tokens = 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, PretrainingModule)
        self._start = time.monotonic()
        if trainer.is_global_zero:
            last = min(pl_module.steps, self._limits.steps or pl_module.steps)
            seconds = None if self._limits.minutes is None else 60 * self._limits.minutes
            self._meter = Meter(last, trainer.global_step, self._log, seconds)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, PretrainingModule)
        loss = float(outputs["loss"]) / pl_module.config.descent.loss_scale
        self._loss = loss if self._loss is None else SMOOTHING * self._loss + (1 - SMOOTHING) * loss
        self._tokens += batch.predictions
        if self._meter:
            self._meter.advance(self._describe)

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        if self._meter:
            self._meter.close()

    def _describe(self) -> str:
        assert self._loss is not None
        rate = self._tokens / max(time.monotonic() - self._start, 1e-9)
        perplexity = exp(min(self._loss, 50))
        return f"{rate:,.0f} tokens/s, loss {self._loss:.3f}, perplexity in training {perplexity:.1f}"


class Watch(pl.Callback):
    """Checkpoint by the clock, at a limit, at the end, and when asked to stop; processes decide together."""

    def __init__(self, checkpoints: CheckpointDirectory, seconds: float, limits: LimitsConfig) -> None:
        self._checkpoints, self._seconds, self._limits = checkpoints, seconds, limits
        self._start = self._saved = time.monotonic()
        self._stop = StopRequest()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start = self._saved = time.monotonic()
        self._stop.listen()

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        self._stop.release()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        now, step = time.monotonic(), trainer.global_step
        is_at_end = step >= trainer.max_steps or trainer.should_stop
        if self._limits.minutes is not None and now - self._start >= 60 * self._limits.minutes:
            is_at_end = True
        is_asked, is_at_end, is_due = self._agree(
            trainer, self._stop.name is not None, is_at_end, now - self._saved >= self._seconds
        )
        if is_asked or is_at_end or is_due:
            self._checkpoints.save(trainer)
            self._saved = time.monotonic()
        if is_asked:
            name = self._stop.name or "another process"
            raise InterruptedRunError(
                f"stopped by {name}; run the same command again to resume from step {step}"
            )
        if is_at_end:
            trainer.should_stop = True

    def _agree(self, trainer: pl.Trainer, *decisions: bool) -> list[bool]:
        """What any process wants, all do."""
        if trainer.world_size == 1:
            return list(decisions)
        wanted = torch.tensor(decisions, dtype=torch.float32, device=trainer.strategy.root_device)
        return [bool(value > 0) for value in trainer.strategy.reduce(wanted, reduce_op="sum")]
