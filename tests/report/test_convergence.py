"""Which runs count as not converged, and when one run passes another."""

from __future__ import annotations

from typing import Any

import pytest

from elmo_bench.records import Record
from elmo_bench.report.convergence import MARK, met_cap, passing_of, spell_capped
from tests.support.report_records import DEFAULTS, NONE, make_record


def trained(best: float = 4, epochs: int = 6, cap: int = 6, patience: int = 3, **changes: Any) -> Record:
    """A run whose curve rises up to its best epoch."""
    curve = [
        {"epoch": float(n), "loss": 1.0, "dev": 50.0 + n if n <= best else 40.0} for n in range(1, epochs + 1)
    ]
    training = {"epochs": cap, "patience": patience, "batch_size": 4}
    config = {"task": {"name": "ner", "elmo": DEFAULTS, "training": training}}
    return make_record(
        "ner", 1, 20, NONE, **{"curve": curve, "best_epoch": best, "config": config, **changes}
    )


@pytest.mark.parametrize(("stopped", "capped"), [("cap", True), ("patience", False), ("one pass", False)])
def test_a_record_says_itself_why_training_stopped(stopped: str, capped: bool) -> None:
    assert met_cap(trained(best=6, stopped=stopped)) == capped
    assert met_cap(trained(best=1, stopped=stopped)) == capped


@pytest.mark.parametrize(
    ("best", "epochs", "capped"),
    [
        (6, 6, True),  # best in the last epoch there was
        (4, 6, True),  # two epochs without progress of three
        (3, 6, False),  # patience ran out in the last epoch
        (2, 5, False),  # patience ran out before
    ],
)
def test_older_records_are_judged_by_their_curve(best: float, epochs: int, capped: bool) -> None:
    assert met_cap(trained(best, epochs)) == capped


def test_heads_fitted_in_one_pass_have_no_cap() -> None:
    assert not met_cap(trained(1, cap=1, curve=[{"epoch": 1.0, "dev": 49.5}]))
    assert not met_cap(trained(curve=[], best_epoch=None))


def test_the_mark_says_how_many_runs_of_a_mean_it_is_for() -> None:
    done, cut = trained(2), trained(6)
    assert spell_capped([done, done]) == ""
    assert spell_capped([cut, cut]) == MARK
    assert spell_capped([done, cut, done]) == f"{MARK} (1 of 3)"


def steps(*rows: tuple[float, float], **changes: Any) -> Record:
    """A run with a curve of updates and dev scores."""
    return trained(
        curve=[{"epoch": n, "step": step, "loss": 1.0, "dev": dev} for n, (step, dev) in enumerate(rows)],
        **changes,
    )


def test_passing_is_counted_in_updates_up_to_the_first_better_score() -> None:
    before = steps((100, 40.0), (200, 60.0), (300, 55.0))
    after = steps((50, 58.0), (75, 60.0), (100, 61.0), (125, 70.0))
    found = passing_of(before, after)
    assert (found.baseline, found.passed, found.total, found.counted) == (200, 100, 125, True)


def test_a_run_that_never_passes_has_its_own_length_only() -> None:
    found = passing_of(steps((200, 60.0)), steps((50, 58.0), (90, 60.0)))
    assert (found.passed, found.total) == (None, 90)


def test_older_curves_are_counted_in_batches_of_an_epoch() -> None:
    found = passing_of(trained(5), trained(6))  # ten training examples in batches of four
    assert (found.baseline, found.passed, found.counted) == (15.0, 18.0, False)


def test_the_updates_of_a_record_divide_among_its_epochs() -> None:
    found = passing_of(trained(5, updates=60), trained(6, updates=120))
    assert (found.baseline, found.passed, found.counted) == (50.0, 120.0, True)
