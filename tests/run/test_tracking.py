"""A tracker may fail at any moment; the run does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.config import TrackingConfig
from elmo_bench.run.tracking import NoTracker, RunLabel, SafeTracker, build_tracker, has_wandb_key


class Breaking:
    """Works until the given call, then raises at each."""

    def __init__(self, breaks_at: str) -> None:
        self.breaks_at = breaks_at
        self.calls: list[str] = []

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if call == self.breaks_at:
            raise RuntimeError("no network")

    def start(self, label: RunLabel, config: Mapping[str, Any]) -> None:
        self._note("start")

    def log(self, values: Mapping[str, float]) -> None:
        self._note("log")

    def finish(self, summary: Mapping[str, Any]) -> None:
        self._note("finish")


@pytest.mark.parametrize("moment", ["start", "log", "finish"])
def test_a_failing_tracker_is_left_alone_after_one_warning(moment: str) -> None:
    said: list[str] = []
    broken = Breaking(moment)
    tracker = SafeTracker(broken, said.append)
    tracker.start(RunLabel("name", "group", ()), {})
    tracker.log({"dev": 1.0})
    tracker.finish({})
    assert broken.calls[-1] == moment
    assert said == ["warning: tracking failed and is off for this run: no network"]


def test_no_tracker_is_the_default(tmp_path: Path) -> None:
    assert isinstance(build_tracker(TrackingConfig(kind="off"), tmp_path, print), NoTracker)


def test_a_key_is_looked_for_where_wandb_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    netrc = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(netrc))
    assert not has_wandb_key()
    netrc.write_text("machine api.wandb.ai login user password secret\n")
    assert has_wandb_key()
    netrc.unlink()
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    assert has_wandb_key()
