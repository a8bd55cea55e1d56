"""The command that is offered when a run has ended gives the run's partner."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from elmo_bench.identity import identify
from elmo_bench.records import Record
from elmo_bench.runs.outcome import Outcome
from elmo_bench.runs.printing import describe_scores, print_outcome, suggest
from tests.support.composition import run_config
from tests.support.report_records import NONE, make_record

DATA = {"train": "a", "dev": "b", "test": "c"}
CHOICES = (
    "data=open",
    "data.corpus=wnut17",
    "encoder=untrained",
    "size=paper",
    "words=random",
    "seed=3",
    "task.settings.head.dropout=0.25",
    "paths.runs=a directory",
)


def record_of(*overrides: str) -> Record:
    identity = identify(run_config("task=ner", *overrides), 1, DATA, "e", None)
    return Record.model_construct(identity=identity)


def follow(*overrides: str) -> Record:
    """The record of the suggested command, its own words given back to the composer."""
    command, _, _ = suggest(record_of(*overrides), ("task=ner", *overrides)).partition("   (")
    python, script, *words = shlex.split(command)
    assert (python, script, words[0]) == ("python", "run.py", "task=ner")
    return record_of(*words[1:])


@pytest.mark.parametrize(
    "elmo", [(), ("elmo=last",), ("elmo.lambda=0.5", "elmo.layer_norm=true"), ("force=true",)]
)
def test_the_baseline_of_a_run_with_elmo(elmo: tuple[str, ...]) -> None:
    assert follow(*CHOICES, *elmo).identity == record_of(*CHOICES, "elmo=none").identity


@pytest.mark.parametrize("elmo", [("elmo=none",), ("elmo.where=none",), ("elmo=none", "elmo.lambda=0.5")])
def test_the_same_with_elmo_as_the_paper_has_it(elmo: tuple[str, ...]) -> None:
    assert follow(*CHOICES, *elmo).identity == record_of(*CHOICES).identity


def test_figures_beside_the_metric_stand_in_brackets_where_there_are_any() -> None:
    scores = {"f1": 52.5, "precision": 50.0, "recall": 55.26, "f1:PER": 60.0}
    assert describe_scores("f1", scores, 1200) == "f1 52.50  n=1,200  (precision 50.00  recall 55.26)"
    assert describe_scores("accuracy", {"accuracy": 80.0, "accuracy:NN": 1.0}, 5) == "accuracy 80.00  n=5"


@pytest.mark.parametrize(("stopped", "marked"), [("cap", True), ("patience", False)])
def test_a_run_at_its_cap_says_so(
    stopped: str, marked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_outcome(Outcome("already done", make_record("ner", 1, 20, NONE, stopped=stopped), tmp_path), ())
    assert ("not converged: training met its cap" in capsys.readouterr().out) == marked
