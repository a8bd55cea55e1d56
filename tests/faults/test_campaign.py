"""Kills, full disks and damage at seeded moments of whole commands; the slow part tries every kind of file.

Without ELMO_BENCH_FAULT_SECONDS it makes one whole round, otherwise rounds for so long.
ELMO_BENCH_FAULT_SEED says where it begins, ELMO_BENCH_FAULT_TRIAL repeats a trial that has failed.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from elmo_bench.records import RUN_RECORD
from tests.support.campaign import (
    EVERYTHING,
    LOCK,
    Campaign,
    Outcome,
    Trial,
    compare,
    describe,
    round_robin,
    table,
    without_repetition,
)
from tests.support.kinds import KINDS, TRIED_ELSEWHERE, find_writers
from tests.support.scenarios import SCENARIOS

SEED = int(os.environ.get("ELMO_BENCH_FAULT_SEED", "1"))
SECONDS = os.environ.get("ELMO_BENCH_FAULT_SECONDS")
ONE_TRIAL = os.environ.get("ELMO_BENCH_FAULT_TRIAL")
DISK = "size=64m"


def make_campaign(factory: pytest.TempPathFactory, preload: tuple[str, ...] = ()) -> Iterator[Campaign]:
    """On a small disk of its own, where the system lets us have one."""
    directory, elsewhere = factory.mktemp("campaign"), factory.mktemp("kept")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", DISK, "none", directory], capture_output=True, check=False
    )
    made = Campaign(directory, elsewhere, "file size" if mounted.returncode else "full disk", preload)
    yield made
    made.close()
    if mounted.returncode == 0:
        subprocess.run(["umount", "--lazy", directory], check=True)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    yield from make_campaign(tmp_path_factory)


@pytest.fixture(scope="module")
def whole_campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    yield from make_campaign(tmp_path_factory, EVERYTHING)


def registered(name: str) -> set[str]:
    return {kind for scenario, kind in KINDS if scenario == name}


def check(outcomes: list[Outcome]) -> None:
    failed = [outcome for outcome in outcomes if outcome.end == "failed"]
    assert not failed, "\n\n".join(map(spell_failure, failed))


def spell_failure(outcome: Outcome) -> str:
    """What failed, how to try it again, and what was found."""
    again = f"ELMO_BENCH_FAULT_TRIAL={shlex.quote(str(outcome.trial))}"
    return f"{again} pytest -m slow -s tests/faults/test_campaign.py\n{outcome.details}"


def test_every_function_that_writes_files_has_a_kind_of_file_that_is_tried() -> None:
    writers, named = find_writers(), set(KINDS.values()) | TRIED_ELSEWHERE.keys()
    assert sorted(writers - named) == [], "name their files in tests/support/kinds.py"
    assert sorted(name for name in named - writers if name.startswith("elmo_bench.")) == []
    assert {scenario for scenario, _ in KINDS} <= SCENARIOS.keys()


@pytest.mark.parametrize("name", ["pre-training", "preparing", "exporting"])
def test_a_disturbed_command_ends_as_an_undisturbed_one(name: str, campaign: Campaign) -> None:
    plan = campaign.plan(name, random.Random(f"{SEED} {name}"))
    assert campaign.written(name) - {LOCK} == registered(name) <= plan.keys()
    trials = list(round_robin([plan]))
    chosen = {trial.effect: trial for trial in reversed(trials)}
    assert len(chosen) == 4
    check([campaign.attempt(trial) for trial in chosen.values()])


def test_a_trial_is_read_as_it_is_written(campaign: Campaign) -> None:
    for trial in round_robin([campaign.plan("pre-training", random.Random(SEED))]):
        assert Trial.read(str(trial)) == trial


def test_one_trial_of_each_kind_comes_before_the_second_of_any() -> None:
    def trials(scenario: str, kind: str, count: int) -> list[Trial]:
        return [Trial(scenario, kind, damage="flip", victim=str(number)) for number in range(count)]

    plans = [{"x": trials("run", "x", 2), "y": trials("run", "y", 1)}, {"x": trials("sweep", "x", 3)}]
    order = [(trial.scenario, trial.kind) for trial in round_robin(plans)]
    first = [("run", "x"), ("run", "y"), ("sweep", "x")]
    assert order == [*first, ("run", "x"), ("sweep", "x"), ("sweep", "x")]


def test_a_fault_is_noticed_by_the_campaign(campaign: Campaign) -> None:
    """What the campaign takes for a failure: a result that differs, and a file that is left over."""
    tree = campaign.elsewhere / "changed"
    shutil.copytree(campaign.finished("pre-training"), tree)
    expected = describe(tree)
    record = tree / "models" / "tiny" / "record.json"
    content = json.loads(record.read_text())
    record.write_text(json.dumps({**content, "seconds": 1.5, "sha256": "of another time"}))
    assert compare(expected, describe(tree)) == []
    record.write_text(json.dumps({**content, "seed": 7}))
    (tree / "models" / ".tiny-01234567.tmp").touch()
    another = f"another: {record.relative_to(tree)}"
    assert compare(expected, describe(tree)) == [another, "left over: models/.tiny-01234567.tmp"]
    record.unlink()
    assert f"missing: {record.relative_to(tree)}" in compare(expected, describe(tree))


def test_a_run_that_was_executed_twice_is_left_out_only_if_it_is_complete() -> None:
    run = "runs/ner/0123abcd4567-s1"
    expected = {f"{run}/head": "new", f"{run}/{RUN_RECORD}": "new", f"{run}.1/{RUN_RECORD}": "old"}
    twice = {f"{run}.2/head": "new", f"{run}.2/{RUN_RECORD}": "new"}
    assert without_repetition({**expected, **twice}) == expected
    for wrong in ({f"{run}.2/head": "old"}, {f"{run}.2/checkpoints": "directory"}):
        assert without_repetition({**expected, **twice, **wrong}) == {**expected, **twice, **wrong}


@pytest.mark.slow
def test_the_whole_campaign(
    whole_campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign, began = whole_campaign, time.monotonic()
    with capsys.disabled():
        if ONE_TRIAL:
            for line in ONE_TRIAL.splitlines():
                report(campaign.attempt(Trial.read(line)))
            check(campaign.outcomes)
            return
        try:
            seed = SEED
            while campaign.try_round(seed, began + float(SECONDS or "inf"), report) and SECONDS:
                seed += 1
        finally:
            spent = time.monotonic() - began
            print(f"\n{len(campaign.outcomes)} trials from seed {SEED} to {seed}, {spent:.0f} seconds,")
            print(f"{campaign.seconds:.0f} seconds of processors\n")
            print(table(campaign.outcomes, by_kind=False), table(campaign.outcomes, by_kind=True), sep="\n\n")
    check(campaign.outcomes)
    for name in SCENARIOS:
        assert campaign.written(name) - {LOCK} == registered(name), name


def report(outcome: Outcome) -> None:
    """A line as soon as a trial has ended, so that a campaign that is ended has said what it did."""
    print(f"{outcome.end}: {outcome.trial}", flush=True)
    if outcome.end == "failed":
        print(spell_failure(outcome), flush=True)
