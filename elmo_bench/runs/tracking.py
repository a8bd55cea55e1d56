"""Trackers of a run: whatever a tracker does, the run continues as without it.

Weights & Biases runs in a process of its own (`wandb_process.py`), which ends itself if a server does not
answer in time. The run is then tracked offline from its beginning, because all events are kept, and so are
the further runs of the same sweep.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from elmo_bench.config import TrackingConfig
from elmo_bench.extras import require_extra
from elmo_bench.files import write_atomically
from elmo_bench.types import BenchError, Log

SERVER_SECONDS = 5.0  # the limit of logging in, and again of sending the rest at the end
LOCAL_SECONDS = 60.0  # the limit of work without a server; it takes some seconds on a busy machine
NO_ANSWER = "no answer within {seconds:.0f} s"
OFFLINE_MARK = "tracking-is-offline"  # a file in the directory of a sweep

_shared_directory: Path | None = None  # of the sweep to which this process belongs
_experiment: str | None = None  # the name of the sweep's experiment


class TrackingError(BenchError):
    """A tracker failed; `SafeTracker` makes a warning of it."""


@dataclass(frozen=True)
class RunLabel:
    """The name of a run, and the keys by which runs are compared."""

    name: str
    group: str  # runs that differ only in the seed share a group, so that dashboards average over seeds
    tags: tuple[str, ...]
    id: str | None = None  # of W&B; a run that is sent twice under one id is there once


class Tracker(Protocol):
    """An observer that receives the progress of a run."""

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None: ...

    def log(self, values: Mapping[str, float]) -> None: ...

    def finish(self, summary: Mapping[str, Any]) -> None: ...

    def close(self) -> None:
        """Release everything, also if the run was interrupted or has failed."""


class NoTracker:
    """A tracker that does nothing."""

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None:
        pass

    def log(self, values: Mapping[str, float]) -> None:
        pass

    def finish(self, summary: Mapping[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


class WandbTracker:
    """Weights & Biases: online if there is a key and a server that answers, else offline, beside the run."""

    def __init__(self, config: TrackingConfig, directory: Path, log: Log) -> None:
        self._config = config
        self._directory = directory
        self._log = log
        self._events: list[dict[str, Any]] = []  # from the beginning, in case they are needed again
        self._process: subprocess.Popen[str] | None = None
        self._temporary = ""  # the directory of the process for temporary files
        self._mode = choose_mode()
        if self._mode == "online" and is_marked_offline():
            self._mode = "offline"
            log("W&B did not answer an earlier run of this sweep; this run is tracked offline")

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None:
        arguments = {
            "project": self._config.project,
            "group": self._config.group or label.group,
            "tags": [*label.tags, *self._config.tags],
            "name": label.name,
            "config": dict(config),
            "dir": str(self._directory),
            "id": label.id or secrets.token_hex(4),
        }
        self._events = [{"start": arguments, "program": sys.argv[0]}]
        self._launch()

    def log(self, values: Mapping[str, float]) -> None:
        self._send({"log": dict(values)})

    def finish(self, summary: Mapping[str, Any]) -> None:
        self._send({"finish": dict(summary)})
        if reason := self._wait():
            self._fall_back(reason)
            if reason := self._wait():
                raise TrackingError(reason)

    def close(self) -> None:
        """Let the process end by itself; without `finish` it reports the run as failed."""
        if self._process and self._process.stdin and not self._process.stdin.closed:
            with suppress(OSError):
                self._process.stdin.close()

    def _launch(self) -> None:
        """Start a process, and send it everything so far."""
        self._temporary = tempfile.mkdtemp(prefix="elmo_bench-")
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("wandb_process.py")), self._temporary],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env={**os.environ, "TMPDIR": self._temporary},
            start_new_session=True,  # ctrl-C is for the run, which tells the tracker
        )
        start, *rest = self._events
        arguments = {**start["start"], "mode": self._mode}
        self._write([{**start, "start": arguments, "seconds": self._seconds}, *rest])

    @property
    def _seconds(self) -> float:
        return SERVER_SECONDS if self._mode == "online" else LOCAL_SECONDS

    def _send(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        self._write([event])

    def _write(self, events: Sequence[Mapping[str, Any]]) -> None:
        assert self._process and self._process.stdin
        try:
            self._process.stdin.writelines(f"{json.dumps(event)}\n" for event in events)
            self._process.stdin.flush()
        except BrokenPipeError:  # the process has ended
            self._fall_back(self._wait() or "it has ended")

    def _wait(self) -> str | None:
        """Wait for the end of the process; the reason if it failed."""
        assert self._process
        try:
            answer, _ = self._process.communicate(timeout=LOCAL_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return NO_ANSWER.format(seconds=LOCAL_SECONDS)
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)  # of a process that was ended; see there
        if self._process.returncode == -signal.SIGALRM:
            return NO_ANSWER.format(seconds=self._seconds)
        if self._process.returncode:
            return answer.strip() or f"its process ended with {self._process.returncode}"
        return None

    def _fall_back(self, reason: str) -> None:
        """Track offline from now on, the run so far included."""
        if self._mode != "online":
            raise TrackingError(reason)
        self._mode = "offline"
        mark_offline(reason)
        self._log(
            f"warning: W&B failed ({reason}); this run and further runs of a sweep are tracked offline. "
            f"To upload this one later: wandb sync {self._directory / 'wandb'}/offline-run-*"
        )
        self._launch()


class LoggerTracker:
    """One of Lightning's loggers that write files, in the run directory."""

    def __init__(self, kind: str, directory: Path) -> None:
        self._directory = directory / kind
        self._kind = kind
        self._logger: Any = None
        self._step = 0

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None:
        from pytorch_lightning import loggers

        shutil.rmtree(self._directory, ignore_errors=True)  # of an interrupted session; its rows come again
        kind = {"csv": loggers.CSVLogger, "tensorboard": loggers.TensorBoardLogger}[self._kind]
        self._logger = kind(self._directory.parent, name=self._kind, version="")
        self._logger.log_hyperparams({"name": label.name, "group": label.group, **config})

    def log(self, values: Mapping[str, float]) -> None:
        self._step = int(values.get("step", 0))
        self._logger.log_metrics(dict(values), step=self._step)
        self._logger.save()

    def finish(self, summary: Mapping[str, Any]) -> None:
        numbers = {name: float(value) for name, value in summary.items() if value is not None}
        self._logger.log_metrics(numbers, step=self._step)
        self._logger.finalize("success")

    def close(self) -> None:
        if self._logger is not None:
            self._logger.save()


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

    def close(self) -> None:
        with suppress(Exception):
            self._tracker.close()

    def _attempt(self, action: Callable[[], None]) -> None:
        if self._broken:
            return
        try:
            action()
        except Exception as error:  # no failure of a tracker may cost the result
            self._broken = True
            self._log(f"warning: tracking failed and is off for this run: {error}")


def require_tracker(config: TrackingConfig) -> None:
    """Refuse a tracker whose package is not installed, before anything is computed."""
    if config.kind == "wandb":
        require_extra("wandb", "tracking=wandb")
    if config.kind == "tensorboard":
        require_extra("tensorboard", "tracking=tensorboard", "tracking=csv needs none")


def build_tracker(config: TrackingConfig, directory: Path, log: Log) -> Tracker:
    """The configured tracker."""
    if config.kind == "off":
        return NoTracker()
    if config.kind == "wandb":
        return SafeTracker(WandbTracker(config, directory, log), log)
    return SafeTracker(LoggerTracker(config.kind, directory), log)


def join_sweep(directory: Path, experiment: str | None = None) -> None:
    """Let the runs of this process, one of several perhaps, be tracked as runs of a sweep.

    They have its name, and pay for a failing server only once.
    """
    global _shared_directory, _experiment
    _shared_directory, _experiment = directory, experiment


def find_sweep() -> dict[str, str]:
    """The names of the sweep and of its experiment, as far as there are any."""
    names = {"sweep": _shared_directory.name if _shared_directory else None, "experiment": _experiment}
    return {key: name for key, name in names.items() if name}


def mark_offline(reason: str) -> None:
    """Tell the further runs of this sweep that a server failed."""
    if _shared_directory:
        write_atomically(_shared_directory / OFFLINE_MARK, f"{reason}\n".encode())


def is_marked_offline() -> bool:
    """Whether a server failed an earlier run of this sweep."""
    return _shared_directory is not None and (_shared_directory / OFFLINE_MARK).exists()


def choose_mode() -> str:
    """The mode of W&B that the user has chosen, or online if W&B can log in without a prompt."""
    return os.environ.get("WANDB_MODE") or ("online" if has_wandb_key() else "offline")


def has_wandb_key() -> bool:
    """Whether W&B can log in without a prompt."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    netrc = Path(os.environ.get("NETRC", "~/.netrc")).expanduser()
    try:
        return "api.wandb.ai" in netrc.read_text()
    except OSError:
        return False
