"""Kills, full disks and damage at seeded moments of whole commands; the slow part goes on as long as it may.

ELMO_BENCH_FAULT_SECONDS says how long (an hour otherwise), ELMO_BENCH_FAULT_SEED where it begins.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.support.campaign import SCENARIOS, Campaign, Outcome, compare, describe
from tests.support.faults import Effect

SEED = int(os.environ.get("ELMO_BENCH_FAULT_SEED", "1"))
SECONDS = float(os.environ.get("ELMO_BENCH_FAULT_SECONDS", "3600"))
KILLS: tuple[Effect, ...] = ("kill", "kill while writing")
DISK = "size=64m"
Trial = Callable[[], Outcome]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    """On a small disk of its own, where the system lets us have one."""
    directory = tmp_path_factory.mktemp("campaign")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", DISK, "none", directory], capture_output=True, check=False
    )
    yield Campaign(directory)
    if mounted.returncode == 0:
        subprocess.run(["umount", "--lazy", directory], check=True)


@pytest.fixture(scope="module")
def full(campaign: Campaign) -> Effect:
    """A disk that is full, or else files that may not grow."""
    return "full disk" if campaign.directory.is_mount() else "file size"


def faults(campaign: Campaign, name: str, effects: tuple[Effect, ...], seed: int = SEED) -> Iterator[Trial]:
    """Faults of a command at chosen operations, as trials."""
    for fault in campaign.faults(name, effects, random.Random(f"{seed} {name} {effects}")):
        yield partial(campaign.try_fault, name, fault)


def damages(campaign: Campaign, name: str, *, is_halfway: bool) -> Iterator[Trial]:
    """Each kind of damage to one file of each kind that a command leaves, finished or killed."""
    campaign.finished(name)
    tree = campaign.halfway(name) if is_halfway else name
    chooser = random.Random(f"{SEED} {tree}")
    kinds = campaign.victims(tree)
    chosen = [chooser.choice(kinds[kind]) for kind in kinds]
    trials = [(victim, damage) for victim in chosen for damage in campaign.ways(tree, victim)]
    chooser.shuffle(trials)
    for victim, damage in trials:
        yield partial(campaign.try_damage, name, tree, victim, damage)


def check(outcomes: list[Outcome]) -> None:
    failed = [outcome for outcome in outcomes if outcome.end == "failed"]
    assert not failed, "\n\n".join(f"{one.scenario}: {one.fault}\n{one.details}" for one in failed)


@pytest.mark.parametrize("name", ["pre-training", "publishing", "embedding"])
def test_a_disturbed_command_ends_as_an_undisturbed_one(name: str, campaign: Campaign, full: Effect) -> None:
    sources = [
        faults(campaign, name, ("kill",)),
        faults(campaign, name, (full,)),
        damages(campaign, name, is_halfway=False),
    ]
    check([next(source)() for source in sources])


def test_a_killed_first_run_ends_as_an_undisturbed_one(campaign: Campaign) -> None:
    check([next(faults(campaign, "run", KILLS))()])


def test_a_fault_is_noticed_by_the_campaign(campaign: Campaign) -> None:
    """What the campaign takes for a failure: a result that differs, and a file that is left over."""
    tree = campaign.finished("publishing")
    expected = describe(tree)
    (record,) = tree.glob("records/ner/*.json")
    content = json.loads(record.read_text())
    record.write_text(json.dumps({**content, "seconds": {"fitting": 1.5}, "sha256": "of another time"}))
    assert compare(expected, describe(tree)) == []
    record.write_text(json.dumps({**content, "seed": 7}))
    (tree / "records" / ".ner-01234567.tmp").touch()
    another = f"another: {record.relative_to(tree)}"
    assert compare(expected, describe(tree)) == [another, "left over: records/.ner-01234567.tmp"]
    record.unlink()
    assert f"missing: {record.relative_to(tree)}" in compare(expected, describe(tree))
    shutil.rmtree(tree)  # a later test makes it again


@pytest.mark.slow
def test_the_whole_campaign(campaign: Campaign, full: Effect, capsys: pytest.CaptureFixture[str]) -> None:
    end = time.monotonic() + SECONDS
    endless, finite = [], []
    for name in SCENARIOS:
        endless += [faults(campaign, name, (effect,)) for effect in (*KILLS, full)]
        finite.append(damages(campaign, name, is_halfway=False))
        if name in ("run", "pre-training", "embedding"):
            finite.append(damages(campaign, name, is_halfway=True))
    try:
        while finite and time.monotonic() < end:
            for source in [*endless, *finite]:
                trial = next(source, None)
                if trial is None:
                    finite.remove(source)
                elif time.monotonic() < end:
                    trial()
    finally:
        with capsys.disabled():
            print(f"\n{len(campaign.outcomes)} trials, seed {SEED}\n\n{campaign.table()}")
    check(campaign.outcomes)
