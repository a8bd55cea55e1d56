"""Fit a head, choose the best epoch by dev data, survive being killed at any moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from elmo_bench.config import TrainerConfig, TrainingConfig
from elmo_bench.run.batches import FileOrderBatches, TrainingBatches
from elmo_bench.run.module import Scorer, TaskModule
from elmo_bench.training.checkpoints import CheckpointDirectory
from elmo_bench.training.quiet import quiet_lightning
from elmo_bench.training.stopping import StopRequest
from elmo_bench.types import InterruptedRunError, Prediction, Say


@dataclass(frozen=True)
class FitPlan:
    """What fitting needs beside the module and the batches."""

    directory: Path  # of checkpoints
    settings: TrainingConfig
    trainer: TrainerConfig
    score: Scorer
    higher_is_better: bool
    say: Say
    observe: Callable[[dict[str, float]], None]  # one row of the learning curve at a time


@dataclass(frozen=True)
class Fit:
    """How the fitting went; the module holds the best epoch's weights."""

    curve: list[dict[str, float]]
    best_epoch: int | None


def fit(module: TaskModule, training: TrainingBatches, dev: FileOrderBatches, plan: FitPlan) -> Fit:
    """Train until dev data stop improving, then load the best epoch's weights."""
    if module.head.fitting == "one_pass":
        return fit_in_one_pass(module, training, dev, plan)
    selection = Selection(plan)
    checkpoints = CheckpointDirectory(plan.directory, plan.say)
    callbacks: list[pl.Callback] = [selection, Safekeeping(checkpoints, plan.trainer.checkpoint_seconds)]
    trainer = build_trainer(plan.trainer, callbacks, max_epochs=plan.settings.epochs)
    training.step = lambda: trainer.global_step
    newest = checkpoints.newest()
    if newest:
        plan.say(f"going on from {newest.name}")
    with quiet_lightning():
        trainer.fit(module, as_loader(training), as_loader(dev), ckpt_path=newest, weights_only=True)
    module.load_state_dict(selection.best_state)
    return Fit(selection.curve, selection.best_epoch)


def fit_in_one_pass(
    module: TaskModule, training: TrainingBatches, dev: FileOrderBatches, plan: FitPlan
) -> Fit:
    """Show every training batch once to a head that has nothing to descend."""
    head: Any = module.head
    module.eval()
    with torch.no_grad():
        for batch in training:
            head.observe(module.injection(batch.streams), batch)
        head.finish()
    score = plan.score(predict(module, dev, plan.trainer))
    row = {"epoch": 1.0, "dev": score}
    plan.observe(row)
    return Fit([row], 1)


def predict(module: TaskModule, batches: FileOrderBatches, trainer: TrainerConfig) -> list[Prediction]:
    """Predictions of one split, in file order."""
    runner = build_trainer(trainer, [], max_epochs=1)
    with quiet_lightning():
        decoded = runner.predict(module, as_loader(batches), weights_only=True)
    return [prediction for batch in decoded or [] for prediction in batch]


def build_trainer(config: TrainerConfig, callbacks: list[pl.Callback], max_epochs: int) -> pl.Trainer:
    """A Lightning trainer without side effects of its own: no logger, no files, no tips."""
    with quiet_lightning():
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
            deterministic=config.accelerator == "cpu",
        )


def as_loader(batches: TrainingBatches | FileOrderBatches) -> DataLoader[Any]:
    """Batches come ready-made; the loader only hands them on."""
    return DataLoader(batches, batch_size=None, num_workers=0)


class Selection(pl.Callback):
    """Dev data choose: keep the best epoch's weights, stop when patience runs out."""

    def __init__(self, plan: FitPlan) -> None:
        self._plan = plan
        self._losses: list[float] = []
        self._average: dict[str, Tensor] = {}  # of the weights, where the task asks for it
        self._trained: dict[str, Tensor] = {}  # the weights that the average stands in for
        self.curve: list[dict[str, float]] = []
        self.best_epoch: int | None = None
        self.best_score = float("nan")
        self.best_state: dict[str, Tensor] = {}

    def state_dict(self) -> dict[str, Any]:
        return {
            "losses": self._losses,
            "average": self._average,
            "curve": self.curve,
            "best_epoch": self.best_epoch,
            "best_score": self.best_score,
            "best_state": self.best_state,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._losses = state_dict["losses"]
        self._average = state_dict["average"]
        self.curve = state_dict["curve"]
        self.best_epoch = state_dict["best_epoch"]
        self.best_score = state_dict["best_score"]
        self.best_state = state_dict["best_state"]

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for row in self.curve:  # of a resumed run
            self._plan.observe(row)
        self._stop_if_stuck(trainer)

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
        score = self._plan.score(pl_module.dev_predictions)
        epoch = trainer.current_epoch + 1
        better = self.best_epoch is None or (score > self.best_score) == self._plan.higher_is_better
        if better and score != self.best_score:
            self.best_epoch, self.best_score, self.best_state = epoch, score, copy_state(pl_module)
        elif self._plan.settings.schedule == "halving":
            for group in trainer.optimizers[0].param_groups:
                group["lr"] *= 0.5
        if self._trained:
            pl_module.load_state_dict(self._trained)
            self._trained = {}
        row = {"epoch": float(epoch), "loss": sum(self._losses) / len(self._losses), "dev": score}
        self._losses = []
        self.curve.append(row)
        self._plan.observe(row)
        self._stop_if_stuck(trainer)

    def _stop_if_stuck(self, trainer: pl.Trainer) -> None:
        waited = len(self.curve) - (self.best_epoch or 0)
        if self.curve and waited >= self._plan.settings.patience:
            trainer.should_stop = True


def copy_state(module: torch.nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


class Safekeeping(pl.Callback):
    """Checkpoint at every epoch's end, by the clock in between, and when asked to stop."""

    def __init__(self, checkpoints: CheckpointDirectory, seconds: float) -> None:
        self._checkpoints = checkpoints
        self._seconds = seconds
        self._saved = time.monotonic()
        self._stop = StopRequest()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._stop.listen()

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        self._stop.release()

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *rest: Any) -> None:
        if trainer.is_last_batch:
            return  # the epoch's own checkpoint follows its validation
        if self._stop.name or time.monotonic() - self._saved >= self._seconds:
            self._save(trainer)

    def on_validation_batch_end(self, *rest: Any, **named: Any) -> None:
        self._leave_if_asked()  # the last checkpoint is the state to go on from

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        self._checkpoints.save(trainer)
        self._saved = time.monotonic()
        self._leave_if_asked()

    def _leave_if_asked(self) -> None:
        if self._stop.name:
            raise InterruptedRunError(
                f"stopped by {self._stop.name}; the same command goes on from the checkpoint"
            )
