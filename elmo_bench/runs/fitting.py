"""Fit a head, choose the best epoch by dev score, and resume after a kill at any moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from elmo_bench.config import TrainerConfig, TrainingConfig
from elmo_bench.runs.batches import EvaluationBatches, TrainingBatches
from elmo_bench.runs.module import Scorer, TaskModule
from elmo_bench.training.checkpoints import CheckpointDirectory
from elmo_bench.training.lightning import pl
from elmo_bench.training.progress import Meter, spell_time
from elmo_bench.training.quiet import quiet_lightning
from elmo_bench.training.stopping import StopRequest, keep_handlers
from elmo_bench.types import InterruptedRunError, Log, Prediction

StopReason = Literal["patience", "cap", "one pass"]
SLOPE_ROWS = 5  # evaluations that the slope is computed from


@dataclass(frozen=True)
class FitPlan:
    """What fitting needs in addition to the module and the batches."""

    directory: Path  # of checkpoints
    settings: TrainingConfig
    trainer: TrainerConfig
    most_updates: int  # the cap
    score: Scorer
    higher_is_better: bool
    log: Log
    observe: Callable[[dict[str, float]], None]  # receives one row of the learning curve at a time


@dataclass(frozen=True)
class Fit:
    """How the fitting went; the module holds the best epoch's weights."""

    curve: list[dict[str, float]]  # one row per evaluation on dev
    best_epoch: float | None
    stopped: StopReason
    slope: float | None  # slope of the last dev scores, per evaluation
    updates: int
    earlier_seconds: float = 0.0  # of training in sessions before this one


def fit(module: TaskModule, training: TrainingBatches, dev: EvaluationBatches, plan: FitPlan) -> Fit:
    """Train until the dev score stops improving, then load the best epoch's weights."""
    if module.head.fitting == "one_pass":
        return fit_in_one_pass(module, training, dev, plan)
    selection = Selection(plan, dev)
    checkpoints = CheckpointDirectory(plan.directory, plan.log)
    safekeeping = Safekeeping(checkpoints, plan.trainer.checkpoint_seconds)
    callbacks: list[pl.Callback] = [Progress(training, plan), selection, safekeeping]
    # A Lightning epoch is the interval between two evaluations.
    rounds = max(1, plan.most_updates // len(training))
    trainer = build_trainer(plan.trainer, callbacks, max_epochs=rounds)
    training.step = lambda: trainer.global_step
    selection.epoch_length = training.epoch_length
    newest = checkpoints.newest()
    if newest:
        plan.log(f"resuming from {newest.name}")
    with quiet_lightning(), keep_handlers():
        trainer.fit(module, as_loader(training), as_loader(dev), ckpt_path=newest, weights_only=True)
    module.load_state_dict(selection.best_state)
    return Fit(
        curve=selection.curve,
        best_epoch=selection.curve[selection.best_round]["epoch"],
        stopped="patience" if selection.is_exhausted() else "cap",
        slope=recent_slope([row["dev"] for row in selection.curve]),
        updates=trainer.global_step,
        earlier_seconds=safekeeping.earlier_seconds,
    )


def fit_in_one_pass(
    module: TaskModule, training: TrainingBatches, dev: EvaluationBatches, plan: FitPlan
) -> Fit:
    """Pass every training batch once to a head that is trained without gradients."""
    head: Any = module.head
    module.eval()
    with torch.no_grad():
        for batch in training:
            head.observe(module.injection(batch.streams), batch)
        head.finish()
    score = plan.score(predict(module, dev, plan.trainer))
    row = {"epoch": 1.0, "dev": score}
    plan.observe(row)
    return Fit([row], 1.0, "one pass", None, 0)


def predict(module: TaskModule, batches: EvaluationBatches, trainer: TrainerConfig) -> list[Prediction]:
    """Predictions of one split, in file order."""
    runner = build_trainer(trainer, [], max_epochs=1)
    with quiet_lightning(), keep_handlers():
        decoded = runner.predict(module, as_loader(batches), weights_only=True)
    return batches.in_file_order([prediction for batch in decoded or [] for prediction in batch])


def build_trainer(config: TrainerConfig, callbacks: list[pl.Callback], max_epochs: int) -> pl.Trainer:
    """A Lightning trainer without side effects of its own: no logger, no files, no tips."""
    # Lightning's `deterministic=True` would set the same and import torch.compile, for a second.
    torch.set_deterministic_debug_mode("error" if config.accelerator == "cpu" else "default")
    with quiet_lightning(), keep_handlers():
        return pl.Trainer(
            accelerator=config.accelerator,
            devices=config.devices,
            precision=config.precision,
            max_epochs=max_epochs,
            callbacks=callbacks,
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            num_sanity_val_steps=0,
        )


def as_loader(batches: TrainingBatches | EvaluationBatches) -> DataLoader[Any]:
    """A loader that passes on complete batches."""
    return DataLoader(batches, batch_size=None, num_workers=0)


class Progress(pl.Callback):
    """Steps, rate, and the time to the next dev score and to the cap."""

    def __init__(self, training: TrainingBatches, plan: FitPlan) -> None:
        self._training, self._plan = training, plan
        self._meter: Meter | None = None  # of the first process
        self._step = 0
        self._loss = float("nan")

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.is_global_zero:
            last = (trainer.max_epochs or 1) * len(self._training)
            self._meter = Meter(last, trainer.global_step, self._plan.log, left="at most {} left")

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *rest: Any) -> None:
        self._step, self._loss = trainer.global_step, float(rest[0]["loss"])
        if self._meter:
            self._meter.advance(self._describe)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if self._meter:
            self._meter.clear()  # a row of the curve follows

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        if self._meter:
            self._meter.close()

    def _describe(self) -> str:
        assert self._meter
        epoch, interval = self._step / self._training.epoch_length, len(self._training)
        to_score = spell_time(self._meter.seconds_of(-self._step % interval))
        rate = self._meter.rate
        return f"epoch {epoch:.2f}, loss {self._loss:.4f}, {rate:.3g} steps/s, dev score in {to_score}"


class Selection(pl.Callback):
    """Choose by dev score: keep the best epoch's weights, stop when patience runs out."""

    def __init__(self, plan: FitPlan, dev: EvaluationBatches) -> None:
        self._plan, self._dev = plan, dev
        self._losses: list[float] = []
        self._average: dict[str, Tensor] = {}  # moving average of the weights, if the task uses one
        self._trained: dict[str, Tensor] = {}  # the trained weights, while the average replaces them
        self.epoch_length = 1
        self.curve: list[dict[str, float]] = []
        self.best_round = -1  # the row of the curve with the best score
        self.best_score = float("nan")
        self.best_state: dict[str, Tensor] = {}

    def state_dict(self) -> dict[str, Any]:
        return {
            "losses": self._losses,
            "average": self._average,
            "curve": self.curve,
            "best_round": self.best_round,
            "best_score": self.best_score,
            "best_state": self.best_state,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._losses = state_dict["losses"]
        self._average = state_dict["average"]
        self.curve = state_dict["curve"]
        self.best_round = state_dict["best_round"]
        self.best_score = state_dict["best_score"]
        self.best_state = state_dict["best_state"]

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for row in self.curve:  # restored in a resumed run
            self._plan.observe(row)
        trainer.should_stop = trainer.should_stop or self.is_exhausted()

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *rest: Any) -> None:
        self._losses.append(float(rest[0]["loss"]))
        decay = self._plan.settings.ema
        if decay:
            for name, value in pl_module.state_dict().items():
                if name not in self._average:
                    self._average[name] = value.clone()
                elif value.is_floating_point():
                    self._average[name].lerp_(value, 1 - decay)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if self._average:
            self._trained = copy_state(pl_module)
            pl_module.load_state_dict(self._average)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, TaskModule)
        score = self._plan.score(self._dev.in_file_order(pl_module.dev_predictions))
        better = self.best_round < 0 or (score > self.best_score) == self._plan.higher_is_better
        if better and score != self.best_score:
            self.best_round, self.best_score = len(self.curve), score
            self.best_state = copy_state(pl_module)
        elif self._plan.settings.schedule == "halving":
            for group in trainer.optimizers[0].param_groups:
                group["lr"] *= 0.5
        if self._trained:
            pl_module.load_state_dict(self._trained)
            self._trained = {}
        row = {
            "epoch": trainer.global_step / self.epoch_length,
            "step": float(trainer.global_step),
            "loss": sum(self._losses) / len(self._losses),
            "dev": score,
        }
        self._losses = []
        self.curve.append(row)
        self._plan.observe(row)
        trainer.should_stop = trainer.should_stop or self.is_exhausted()

    def is_exhausted(self) -> bool:
        """Whether the last evaluations brought no new best score after the minimum number of updates."""
        if not self.curve:
            return False
        waited = len(self.curve) - 1 - self.best_round
        settings = self._plan.settings
        return waited >= settings.patience and self.curve[-1]["step"] >= settings.least_updates


def recent_slope(scores: Sequence[float]) -> float | None:
    """The slope of a straight line through the last scores, in points per evaluation."""
    recent = scores[-SLOPE_ROWS:]
    if len(recent) < 2:
        return None
    return linear_regression(range(len(recent)), recent).slope


def copy_state(module: torch.nn.Module) -> dict[str, Tensor]:
    """The weights as they are now, whatever training does with them later."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


class Safekeeping(pl.Callback):
    """Save a checkpoint at the end of every epoch, at time intervals in between, and on a stop signal."""

    def __init__(self, checkpoints: CheckpointDirectory, seconds: float) -> None:
        self._checkpoints = checkpoints
        self._seconds = seconds
        self._started = self._saved = time.monotonic()
        self._stop = StopRequest()
        self.earlier_seconds = 0.0

    def state_dict(self) -> dict[str, Any]:
        return {"seconds": self.earlier_seconds + time.monotonic() - self._started}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.earlier_seconds = state_dict["seconds"]

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._stop.listen()

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        self._stop.release()

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *rest: Any) -> None:
        if trainer.is_last_batch:
            return  # the epoch's checkpoint is saved after its validation
        if self._stop.name or time.monotonic() - self._saved >= self._seconds:
            self._save(trainer)

    def on_validation_batch_end(self, *rest: Any, **named: Any) -> None:
        self._leave_if_asked()  # the last checkpoint is the state to resume from

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        self._checkpoints.save(trainer)
        self._saved = time.monotonic()
        self._leave_if_asked()

    def _leave_if_asked(self) -> None:
        if self._stop.name:
            raise InterruptedRunError(
                f"stopped by {self._stop.name}; run the same command again to resume from the checkpoint"
            )
