"""How far a training is: a line now and then in a log, in place on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from elmo_bench.training import progress
from elmo_bench.training.progress import Meter, spell_time
from tests.runs.test_stopping import train


class Clock:
    """Time that passes only when told."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def advance(meter: Meter, clock: Clock, steps: int, seconds: float) -> None:
    for _ in range(steps):
        clock.now += seconds
        meter.advance(lambda: "loss 1.0")


def test_a_log_has_sparse_lines_with_the_time_left(clock: Clock) -> None:
    lines: list[str] = []
    meter = Meter(1000, 100, lines.append)
    advance(meter, clock, 29, 1.0)
    assert lines == []
    advance(meter, clock, 1, 1.0)
    assert lines == ["step 130 of 1,000: loss 1.0, 14 min left"]
    advance(meter, clock, 860, 10.0)
    assert len(lines) < 860 / 10
    advance(meter, clock, 10, 1000.0)
    assert lines[-1] == "step 1,000 of 1,000: loss 1.0, 0 s left"


def test_lines_become_rarer_the_longer_it_takes(clock: Clock) -> None:
    lines: list[str] = []
    advance(Meter(10**6, 0, lines.append), clock, 1000, 100.0)  # 28 hours
    assert 20 < len(lines) < 120


def test_the_end_of_a_session_comes_before_that_of_the_training(clock: Clock) -> None:
    lines: list[str] = []
    advance(Meter(1000, 0, lines.append, seconds=90.0, left="at most {} left"), clock, 30, 1.0)
    assert lines == ["step 30 of 1,000: loss 1.0, at most 60 s left"]


def test_on_a_terminal_it_is_shown_in_place(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SECONDS_TO_THE_BAR", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    lines: list[str] = []
    meter = Meter(10, 0, lines.append)
    advance(meter, clock, 3, 100.0)
    meter.clear()
    meter.close()
    written = capsys.readouterr().err
    assert "/10 [" in written and "\r" in written and "\n" not in written
    assert lines == []


def test_a_run_says_when_dev_is_scored_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SECONDS_TO_THE_FIRST_LINE", 0.0)
    monkeypatch.setattr(progress, "SHARE_BETWEEN_LINES", 0.0)
    train(tmp_path, [1.0], epochs=2)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step ")]
    assert len(lines) == 6  # three updates an epoch
    assert lines[3].startswith("step 4 of 6: epoch 1.33, loss ")
    assert " steps/s, dev score in " in lines[3] and lines[3].endswith(" s left")
    assert "dev score in 0 s, at most 0 s left" in lines[5]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (99, "99 s"), (120, "2 min"), (5940, "99 min"), (7200, "2.0 h")]
)
def test_times_are_spelt(seconds: float, text: str) -> None:
    assert spell_time(seconds) == text
