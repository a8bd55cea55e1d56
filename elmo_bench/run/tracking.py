"""Trackers of a run: if a tracker fails, the run continues."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from elmo_bench.config import TrackingConfig
from elmo_bench.types import Log


@dataclass(frozen=True)
class RunLabel:
    """The name of a run, and the keys by which runs are compared."""

    name: str
    group: str  # runs that differ only in the seed share a group, so that dashboards average over seeds
    tags: tuple[str, ...]


class Tracker(Protocol):
    """An observer that receives the progress of a run."""

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None: ...

    def log(self, values: Mapping[str, float]) -> None: ...

    def finish(self, summary: Mapping[str, Any]) -> None: ...


class NoTracker:
    """A tracker that does nothing."""

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None:
        pass

    def log(self, values: Mapping[str, float]) -> None:
        pass

    def finish(self, summary: Mapping[str, Any]) -> None:
        pass


class WandbTracker:
    """Weights & Biases: online if a key is configured, else offline in the run directory."""

    def __init__(self, config: TrackingConfig, directory: Path) -> None:
        self._config = config
        self._directory = directory
        self._run: Any = None

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None:
        import wandb

        self._run = wandb.init(
            project=self._config.project,
            group=self._config.group or label.group,
            tags=[*label.tags, *self._config.tags],
            name=label.name,
            config=dict(config),
            dir=self._directory,
            mode=None if has_wandb_key() else "offline",
            settings=wandb.Settings(silent=True),
        )

    def log(self, values: Mapping[str, float]) -> None:
        if self._run:
            self._run.log(dict(values))

    def finish(self, summary: Mapping[str, Any]) -> None:
        if self._run:
            self._run.summary.update(dict(summary))
            self._run.finish()  # otherwise the jobs of one process would merge into one run


class SafeTracker:
    """Wraps a tracker and turns its failures into warnings."""

    def __init__(self, tracker: Tracker, log: Log) -> None:
        self._tracker = tracker
        self._log = log
        self._broken = False

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None:
        self._attempt(lambda: self._tracker.start(label, config))

    def log(self, values: Mapping[str, float]) -> None:
        self._attempt(lambda: self._tracker.log(values))

    def finish(self, summary: Mapping[str, Any]) -> None:
        self._attempt(lambda: self._tracker.finish(summary))

    def _attempt(self, action: Callable[[], None]) -> None:
        if self._broken:
            return
        try:
            action()
        except Exception as error:  # no failure of a tracker may cost the result
            self._broken = True
            self._log(f"warning: tracking failed and is off for this run: {error}")


def build_tracker(config: TrackingConfig, directory: Path, log: Log) -> Tracker:
    """The configured tracker."""
    if config.kind == "off":
        return NoTracker()
    return SafeTracker(WandbTracker(config, directory), log)


def has_wandb_key() -> bool:
    """Whether W&B can log in without a prompt."""
    if os.environ.get("WANDB_MODE"):
        return True  # the user has decided
    if os.environ.get("WANDB_API_KEY"):
        return True
    netrc = Path(os.environ.get("NETRC", "~/.netrc")).expanduser()
    try:
        return "api.wandb.ai" in netrc.read_text()
    except OSError:
        return False
