"""A campaign of faults against whole commands: each is disturbed, then typed again, and must end undisturbed.

Every trial begins with a copy of a small prepared tree in the same place, so that two trials differ in their
fault alone. Commands are processes that are forked after the imports, and take a second or two.

The plan of a scenario comes from what its undisturbed commands did: every kind of file that they wrote is
killed at each of its operations, while it is written, and on a full disk; what they wrote or read is damaged.
"""

from __future__ import annotations

import csv
import ctypes
import hashlib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from elmo_bench.cli.main import COMMANDS, main
from elmo_bench.files import CHECKSUMS
from elmo_bench.nn.compiled import cache_directory
from elmo_bench.records import RUN_RECORD
from tests.support.damage import (
    CONTENT,
    Damage,
    become_dangling,
    become_directory,
    delete,
    empty,
    flip,
    truncate,
)
from tests.support.faults import FILLER, READ, Effect, Fault, Observer, Operation, fault_at
from tests.support.processes import ONE_THREAD, PROCESSES, start_server
from tests.support.scenarios import BROUGHT, SCENARIOS, Words, paths, shrink

WAYS: tuple[Damage, ...] = (flip, truncate, empty, delete, become_directory, become_dangling)
WAY = {way.__name__: way for way in WAYS}
SIZES = (0, 1, 100, 1000, 10_000)  # bytes after which a kill while writing strikes
VOLATILE = {"seconds", "environment", "speed"}  # values that no two commands share
RANDOM = re.compile(rb'"(__)?id(__)?": "[0-9a-z]+"')  # as W&B names the parts of a dashboard
DIFFERING = re.compile(r"[0-9a-f]{8,}|\d+(\.\d+)*")  # hashes, indices, and runs that are set aside
NUMBERED = re.compile(r"^(.*-work|runs/pretraining/[^/]+)/(train|heldout)/")  # a text as numbers
RUN_DIRECTORY = re.compile(r"^(runs/[^/]+/[0-9a-f]+-s\d+)(?=/)")
FIGURE = re.compile(r"figures/.*(?=\.(pdf|svg))")
AT_ONCE = re.compile(  # directories that are verified as a whole, or are W&B's
    r"cache/(world/v#|models/untrained-#|vectors/[^/]+|texts/[^/]+|hub/snli/#)|cache/scale|.*/text|home/elmo_bench/[^/]+"
    r"|.*/wandb"
)
WANDB = "wandb"  # a directory whose files have random names, and times in them; no result depends on them
LOG_OF_SWEEPS = "sweeps"  # of every sweep that was started; no later command reads it
OF_FILES = ("open", "fsync", "rename")  # the operations that make a file
REMADE = ("cache/", "home/")  # what the project makes again by itself and never refuses
OUTPUT, OPERATIONS = "output", "operations.json"
PATIENCE = 600  # seconds after which a command is ended
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER, prctl(2)
EVERYTHING = (  # what some commands of the campaign import
    "datasets",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "tests.support.campaign",
    "transformers.models.bert",
    "wandb_workspaces.reports.v2",
    "wandb_workspaces.workspaces",
    *(f"elmo_bench.cli.{name}" for name in COMMANDS),
)
LOCK, OTHERS = "*.lock", "directories and locks"


@dataclass(frozen=True)
class Ended:
    """How commands ended: exit code of the last, all that they printed, and their file operations."""

    code: int
    output: str
    operations: list[Operation]


@dataclass(frozen=True)
class Trial:
    """One disturbance of a scenario: a fault, or damage to a file that commands have left."""

    scenario: str
    kind: str  # of the file
    fault: Fault | None = None
    damage: str = ""
    victim: str = ""
    killed: Fault | None = None  # the commands were ended before the damage; otherwise they had finished

    def __str__(self) -> str:
        if self.fault:
            return f"{self.scenario} | {self.fault} | {self.kind}"
        moment = f" | after {self.killed}" if self.killed else ""
        return f"{self.scenario} | {self.damage} {self.victim} | {self.kind}{moment}"

    @property
    def effect(self) -> str:
        return self.fault.effect if self.fault else "damage"

    @classmethod
    def read(cls, text: str) -> Trial:
        """What `str` wrote."""
        scenario, what, kind, *moment = text.split(" | ")
        damage, _, victim = what.partition(" ")
        if damage not in WAY:
            return cls(scenario, kind, Fault.read(what))
        killed = Fault.read(moment[0].removeprefix("after ")) if moment else None
        return cls(scenario, kind, None, damage, victim, killed)


@dataclass(frozen=True)
class Outcome:
    """What became of one trial."""

    trial: Trial
    end: str
    details: str = ""


@dataclass
class Campaign:
    """A place for trees, and all that was tried in it."""

    directory: Path  # the small disk
    elsewhere: Path  # on another one: trees to begin with, what commands print, and what they did
    full: Effect = "full disk"  # or "file size", where there is no small disk to fill
    preload: tuple[str, ...] = ()  # modules that are imported once, and not by every command
    seconds: float = 0.0  # of processors, that all commands together have taken
    outcomes: list[Outcome] = field(default_factory=list)
    expected: dict[str, dict[str, str]] = field(default_factory=dict)
    operations: dict[str, list[Operation]] = field(default_factory=dict)
    commands: dict[str, list[Words]] = field(default_factory=dict)
    # Of kills, by scenario.
    moments: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))

    @property
    def root(self) -> Path:
        """Where every command works."""
        return self.directory / "tree"

    def kept(self, name: str) -> Path:
        """A tree to begin with, or to compare with."""
        return self.elsewhere / f"kept-{name}"

    @property
    def notes(self) -> Path:
        """Of the last commands."""
        return self.elsewhere / "notes"

    def finished(self, name: str) -> Path:
        """The tree that undisturbed commands leave; it is made when it is first asked for."""
        if not self.kept(name).exists():
            self.restore(self.beginning(name))
            self.commands[name] = SCENARIOS[name].commands(self.root)
            ended = self.perform(name)
            assert ended.code == 0, f"{name}: {ended.output}"
            self.operations[name] = ended.operations
            self.expected[name] = describe(self.root)
            shutil.copytree(self.root, self.kept(name), symlinks=True)
        return self.kept(name)

    def beginning(self, name: str) -> Path:
        """The tree that commands find: what is brought, the compiled library, what others have left."""
        before, scenario = self.kept(f"before-{name}"), SCENARIOS[name]
        if not before.exists():
            for earlier in scenario.after:
                shutil.copytree(self.finished(earlier), before, symlinks=True, dirs_exist_ok=True)
            (before / BROUGHT).mkdir(parents=True, exist_ok=True)
            if scenario.brings:
                scenario.brings(before / BROUGHT)
            home = before / "home" / "elmo_bench"
            shutil.rmtree(home, ignore_errors=True)
            if not scenario.compiles:
                shutil.copytree(self.library, home)
        return before

    @cached_property
    def library(self) -> Path:
        """A cache with nothing but the compiled library, taken from this user's."""
        copy = self.elsewhere / "library"
        for made in cache_directory().glob("loops-*"):
            shutil.copytree(made, copy / made.name)
        copy.mkdir(exist_ok=True)
        return copy

    def restore(self, tree: Path) -> None:
        """Begin again with a copy of a tree."""
        self.settle()
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.with_name(FILLER).unlink(missing_ok=True)
        shutil.copytree(tree, self.root, symlinks=True)

    def perform(self, name: str, fault: Fault | None = None) -> Ended:
        """Type the commands of a scenario."""
        return self.execute(self.commands[name], fault)

    def execute(self, commands: list[Words], fault: Fault | None = None) -> Ended:
        """Type some commands in a process; their operations are noted if nothing disturbs it."""
        shutil.rmtree(self.notes, ignore_errors=True)
        self.notes.mkdir()
        self.shop.send((self.root, self.notes, commands, fault))
        code, self.seconds = self.shop.recv()
        noted = self.notes / OPERATIONS
        operations = [Operation(*one) for one in json.loads(noted.read_bytes())] if noted.exists() else []
        return Ended(code, (self.notes / OUTPUT).read_text(errors="replace"), operations)

    def settle(self) -> None:
        """Wait until W&B's processes, which go on for a while after a kill, have ended."""
        self.shop.send(None)
        self.seconds = self.shop.recv()

    @cached_property
    def shop(self) -> Connection:
        """Where commands are given to: a process that has done their imports."""
        start_server()
        ours, theirs = PROCESSES.Pipe()
        process = PROCESSES.Process(target=_serve, args=(self.preload, theirs), daemon=True)
        process.start()
        theirs.close()
        return ours

    def close(self) -> None:
        """Let the process of the commands end."""
        self.shop.close()

    def plan(self, name: str, chooser: random.Random) -> dict[str, list[Trial]]:
        """The trials of one round by kind of file, those of a kind in an order of their own."""
        self.finished(name)
        trials: defaultdict[str, list[Trial]] = defaultdict(list)
        for trial in (*self.plan_faults(name, chooser), *self.plan_damage(name, chooser)):
            trials[trial.kind].append(trial)
        for of_kind in trials.values():
            chooser.shuffle(of_kind)
        return dict(sorted(trials.items()))

    def plan_faults(self, name: str, chooser: random.Random) -> Iterator[Trial]:
        """A kill at each kind of operation on each kind of file, and what strikes while it is written."""
        operations = self.operations[name]
        places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for place, one in enumerate(operations):
            if one.kind != READ:
                is_of_file = one.kind in OF_FILES and one.path and not one.path.endswith("/")
                places[kind_of_file(one.path) if is_of_file else OTHERS, one.kind].append(place)
        for (kind, _), found in sorted(places.items()):
            yield Trial(name, kind, fault_at(operations, chooser.choice(found), "kill"))
        for kind in sorted({kind for kind, _ in places}):
            begun = chooser.choice(places.get((kind, "open")) or self.beginnings(name, kind))
            yield Trial(name, kind, fault_at(operations, begun, self.full))
            if kind not in (LOCK, OTHERS):
                size = chooser.choice(SIZES)
                yield Trial(name, kind, fault_at(operations, begun, "kill while writing", size))

    def beginnings(self, name: str, kind: str) -> list[int]:
        """Where files begin that libraries open without Python: at what comes before their `fsync`."""
        operations = [(place, one) for place, one in enumerate(self.operations[name]) if one.kind != READ]
        if kind == OTHERS:
            return [place for place, one in operations if one.kind == "mkdir"] or [operations[0][0]]
        return [
            before
            for (before, _), (_, one) in pairwise(operations)
            if one.kind in OF_FILES and not one.path.endswith("/") and kind_of_file(one.path) == kind
        ]

    def plan_damage(self, name: str, chooser: random.Random) -> Iterator[Trial]:
        """All damage to one file of each kind: what commands find, what they leave, and what they remove."""
        found = self.victims(self.beginning(name))
        read = {kind_of_file(one.path) for one in self.operations[name] if one.kind == READ}
        for kind in sorted(read & found.keys()):
            yield from self.damages(name, kind, chooser.choice(found[kind]), self.beginning(name))
        left = self.victims(self.kept(name))
        for kind in sorted(self.written(name) & left.keys()):
            if made := sorted(set(left[kind]) - set(found.get(kind, ()))):
                yield from self.damages(name, kind, chooser.choice(made), self.kept(name))
        for kind in sorted(self.written(name) - left.keys() | self.written_by_wandb(name)):
            if (moment := self.halfway(name, kind)) is not None:
                tree = self.killed(name, moment)
                victim = chooser.choice(self.victims(tree)[kind])
                yield from self.damages(name, kind, victim, tree, moment)

    def damages(
        self, name: str, kind: str, victim: str, tree: Path, killed: Fault | None = None
    ) -> Iterator[Trial]:
        """What can be done to a file; an empty one has no content to change."""
        is_empty = (tree / victim).stat().st_size == 0
        for way in WAYS:
            if not (is_empty and way in CONTENT):
                yield Trial(name, kind, None, way.__name__, victim, killed)

    def written(self, name: str) -> set[str]:
        """The kinds of files that a scenario writes: also those that it removes again, and W&B's."""
        self.finished(name)
        seen = {
            kind_of_file(one.path)
            for one in self.operations[name]
            if one.kind in OF_FILES and one.path and not one.path.endswith("/")
        }
        return seen | self.written_by_wandb(name)

    def written_by_wandb(self, name: str) -> set[str]:
        """The kinds of files of W&B's own processes, whose operations are not noted."""
        made = self.victims(self.kept(name)).keys() - self.victims(self.beginning(name)).keys()
        return {kind for kind in made if WANDB in kind.split("/")}

    def halfway(self, name: str, kind: str) -> Fault | None:
        """A kill after which a file is there that finished commands remove; none if there is no such."""
        for moment in self.moments[name]:
            if kind in self.victims(self.killed(name, moment)):
                return moment
        operations = self.operations[name]
        seen = [place for place, one in enumerate(operations) if kind_of_file(one.path) == kind]
        if not seen:
            return None
        first, last = seen[0], seen[-1]
        for share in (1 / 2, 3 / 4, 1 / 4):
            place = first + round(share * (last - first))
            while operations[place].kind == READ and place < last:
                place += 1
            moment = fault_at(operations, place, "kill")
            if moment.kind != READ and kind in self.victims(self.killed(name, moment)):
                self.moments[name].append(moment)
                return moment
        return None

    def killed(self, name: str, moment: Fault) -> Path:
        """The tree that killed commands have left."""
        tree = self.kept(f"{name} {moment}")
        if not tree.exists():
            self.finished(name)
            self.restore(self.beginning(name))
            self.perform(name, moment)
            self.settle()
            shutil.copytree(self.root, tree, symlinks=True)
        return tree

    def victims(self, tree: Path) -> dict[str, list[str]]:
        """The files of a tree by their kind; what the user brought is not among them."""
        found = defaultdict(list)
        for path in sorted(tree.rglob("*")):
            name = path.relative_to(tree).as_posix()
            if path.is_file() and not name.startswith(f"{BROUGHT}/") and LOG_OF_SWEEPS not in path.parts:
                found[kind_of_file(name)].append(name)
        return found

    def find_victim(self, trial: Trial, tree: Path) -> str:
        """The file that a trial damages; another of its kind where its name is random, as W&B's are."""
        if (tree / trial.victim).exists():
            return trial.victim
        found = self.victims(tree)[trial.kind]
        assert found, f"{trial}: no such file then; another commit may have other operations"
        return found[0]

    def find_moved(self, name: str, victim: str) -> str:
        """Where commands leave a file that they find: force=true sets the earlier run aside, as NAME.1."""
        moved = RUN_DIRECTORY.sub(r"\1.1", victim)
        return moved if (self.kept(name) / moved).exists() else victim

    def attempt(self, trial: Trial) -> Outcome:
        """Try one thing, and keep what became of it."""
        self.finished(trial.scenario)
        end, details = self.try_fault(trial) if trial.fault else self.try_damage(trial)
        self.outcomes.append(Outcome(trial, end, details if end == "failed" else ""))
        return self.outcomes[-1]

    def try_round(self, seed: int, end: float, report: Callable[[Outcome], None]) -> bool:
        """One round over all scenarios; false if the time is over before its end."""
        plans = (self.plan(name, random.Random(f"{seed} {name}")) for name in SCENARIOS)
        for trial in round_robin(plans):
            if time.monotonic() > end:
                return False
            report(self.attempt(trial))
        return True

    def try_fault(self, trial: Trial) -> tuple[str, str]:
        """Disturb commands once, then type them again."""
        name = trial.scenario
        self.restore(self.beginning(name))
        first = self.perform(name, trial.fault)
        struck = first.code != 0 or self.root.with_name(FILLER).exists()
        self.root.with_name(FILLER).unlink(missing_ok=True)
        again = self.perform(name)
        self.settle()
        difference = compare(self.expected[name], without_repetition(describe(self.root)))
        end = "survived" if struck else "not met"
        if difference and again.code == 0:
            self.execute([["store", "clean", "--outdated", *paths(self.root)]])
            end, difference = "survived, cleaned", compare(self.expected[name], describe(self.root))
        if again.code or difference or "Traceback" in first.output:
            said = first.output if "Traceback" in first.output else ""
            return "failed", "\n".join([said, *difference, again.output])
        return end, ""

    def try_damage(self, trial: Trial) -> tuple[str, str]:
        """Damage one file of a tree, then type the commands."""
        name = trial.scenario
        is_found = (self.beginning(name) / trial.victim).exists()  # before the commands are typed at all
        finished = self.beginning(name) if is_found else self.kept(name)
        tree = self.killed(name, trial.killed) if trial.killed else finished
        victim = self.find_victim(trial, tree)
        moved = self.find_moved(name, victim) if is_found else victim
        self.restore(tree)
        path = self.root / victim
        WAY[trial.damage](path)
        damaged = describe_below(path)
        again = self.perform(name)
        self.settle()
        after, expected = without_repetition(describe(self.root)), self.expected[name]
        others = compare(without(expected, moved), without(after, moved))
        untouched = damaged in (describe_below(path), describe_below(self.root / moved))
        may_refuse = not victim.startswith(REMADE)
        if again.code == 0 and after in (expected, without_earlier_run(expected, trial)):
            end = "not read" if WANDB in victim.split("/") else "made again"
        elif again.code == 0 and not others and untouched:
            end = "not read"
        elif again.code > 0 and path.name in again.output and untouched and may_refuse:
            end = "refused by name"
        elif again.code == 0 and untouched and is_found and is_left_out(trial, again.output):
            end = "left out"
        else:
            end = "failed"
        if "Traceback" in again.output:
            end = "failed"
        return end, "\n".join([*compare(expected, after), again.output])


def is_left_out(trial: Trial, output: str) -> bool:
    """Whether a command that takes what is there has named what is damaged; it cannot miss a deleted file."""
    is_named = trial.damage == "delete" or Path(trial.victim).name in output
    return SCENARIOS[trial.scenario].gathers and is_named


def round_robin(plans: Iterable[dict[str, list[Trial]]]) -> Iterator[Trial]:
    """One trial of every kind of file of every scenario, then the next of each, until all have come.

    A plan is made when its first trial comes.
    """
    waiting = []
    for plan in plans:
        for of_kind in map(iter, plan.values()):
            yield next(of_kind)
            waiting.append(of_kind)
    while waiting:
        left = []
        for of_kind in waiting:
            if (trial := next(of_kind, None)) is not None:
                yield trial
                left.append(of_kind)
        waiting = left


def kind_of_file(name: str) -> str:
    """The path of a file without what differs between files of one kind: hashes, indices, splits.

    The files of some directories are one kind, because they are written, verified and made again together.
    """
    if name.endswith(".lock"):
        return LOCK
    name = FIGURE.sub("figures/*", name)
    name = NUMBERED.sub(r"\1/text/", name)
    parts = [part if part == CHECKSUMS else DIFFERING.sub("#", part) for part in name.split("/")]
    for depth in range(len(parts) - 1):
        is_apart = parts[-1] == CHECKSUMS or parts[-1].endswith(".wandb")  # what tells of the others
        if AT_ONCE.fullmatch("/".join(parts[: depth + 1])) and not is_apart:
            return "/".join([*parts[: depth + 1], "*"])
    return "/".join(parts)


def describe(root: Path) -> dict[str, str]:
    """Every path below a directory with what may not depend on how it got there."""
    return {
        path.relative_to(root).as_posix(): describe_one(path)
        for path in sorted(root.rglob("*"))
        if is_compared(path.relative_to(root))
    }


def is_compared(path: Path) -> bool:
    """Not what only people read: the logs of sweeps and of W&B. A lock file may stay or go."""
    is_log = any(part in (LOG_OF_SWEEPS, WANDB) for part in path.parts)
    return not is_log and not any(part.endswith(".lock") for part in path.parts)


def describe_below(path: Path) -> dict[str, str]:
    """The same of a path and everything below it, whatever it is."""
    found = [one for one in (path, *path.rglob("*")) if os.path.lexists(one)]
    return {one.relative_to(path).as_posix(): describe_one(one) for one in found}


def describe_one(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    return "directory" if path.is_dir() else hashlib.sha256(constant_part(path)).hexdigest()


def without_repetition(tree: dict[str, str]) -> dict[str, str]:
    """A described tree without what a run that was executed once more, after it was done, has set aside.

    Someone who types a command with force=true again after it was killed just behind its record gets the run
    twice. Only a complete copy of the run is taken away.
    """
    for record in [name for name in tree if name.endswith(f".2/{RUN_RECORD}")]:
        repeated = record.removesuffix(f"/{RUN_RECORD}")
        current = repeated.removesuffix(".2")
        if below(tree, repeated) == below(tree, current):
            tree = without(tree, repeated)
    return tree


def without_earlier_run(tree: dict[str, str], trial: Trial) -> dict[str, str]:
    """What is expected after a run has lost its record: it is no finished run, and nothing is set aside."""
    directory, _, name = trial.victim.rpartition("/")
    is_lost = trial.damage == "delete" and name == RUN_RECORD
    return without(tree, f"{directory}.1") if is_lost else tree


def constant_part(path: Path) -> bytes:
    """The content of a file without measured times, and without the hash of a record that has them."""
    content = path.read_bytes()
    if path.suffix == ".speed" and hashlib.sha256(content[32:]).digest() == content[:32]:
        return b"a sound measurement"
    if path.name == "metrics.csv":
        rows = list(csv.DictReader(content.decode(errors="replace").splitlines()))
        return json.dumps([{key: row[key] for key in row if key not in VOLATILE} for row in rows]).encode()
    if path.name == "dashboard.json":
        return RANDOM.sub(b"", content)
    if path.suffix != ".json":
        return content
    try:
        values = json.loads(content)
    except ValueError:
        return content
    if path.name == "unit.json" and "about" in values:
        del values["about"]  # in the words of the command that has filled it
    return json.dumps(without_times(values), sort_keys=True).encode()


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        gone = VOLATILE | ({"sha256"} if VOLATILE & value.keys() else set())
        return {key: without_times(inner) for key, inner in value.items() if key not in gone}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def without(tree: dict[str, str], victim: str) -> dict[str, str]:
    """A described tree without one path and what is below it."""
    return {
        name: content
        for name, content in tree.items()
        if name != victim and not name.startswith(f"{victim}/")
    }


def below(tree: dict[str, str], directory: str) -> dict[str, str]:
    """What is below one path of a described tree."""
    beginning = f"{directory}/"
    return {
        name.removeprefix(beginning): content for name, content in tree.items() if name.startswith(beginning)
    }


def compare(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    """The paths in which two trees differ."""
    lines = [f"left over: {name}" for name in found.keys() - expected.keys()]
    lines += [f"missing: {name}" for name in expected.keys() - found.keys()]
    lines += [f"another: {name}" for name in expected.keys() & found.keys() if expected[name] != found[name]]
    return sorted(lines)


def table(outcomes: Iterable[Outcome], *, by_kind: bool) -> str:
    """What was tried and what became of it, by scenario and effect, or by scenario and kind of file."""
    outcomes = list(outcomes)
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        trial = outcome.trial
        rows[trial.scenario, trial.kind if by_kind else trial.effect][outcome.end] += 1
    ends = sorted({outcome.end for outcome in outcomes})
    lines = [
        f"| command | {'file' if by_kind else 'fault'} | tried | {' | '.join(ends)} |",
        "|---" * (3 + len(ends)) + "|",
    ]
    for (scenario, kind), counts in sorted(rows.items()):
        cells = [scenario, kind, counts.total(), *(counts[end] or "" for end in ends)]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _serve(preload: tuple[str, ...], requests: Connection) -> None:
    """Execute commands in processes of their own, one after the other, until nobody asks any more."""
    for module in preload:
        importlib.import_module(module)
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)  # so that they can be waited for
    with suppress(EOFError):
        while True:
            request = requests.recv()
            if request is None:
                _wait_for_orphans()
                requests.send(_used_seconds())
                continue
            child = os.fork()
            if child == 0:
                _execute(*request)
            _, status = os.waitpid(child, 0)
            requests.send((os.waitstatus_to_exitcode(status), _used_seconds()))


def _wait_for_orphans() -> None:
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _used_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _execute(root: Path, notes: Path, commands: list[Words], fault: Fault | None) -> None:
    """What commands do, in their process."""
    output = os.open(notes / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    sys.stdout, sys.stderr = (os.fdopen(descriptor, "w", closefd=False) for descriptor in (1, 2))
    os.environ.update(ONE_THREAD, XDG_CACHE_HOME=str(root / "home"), WANDB_MODE="offline")
    signal.alarm(PATIENCE)
    shrink()
    observer = Observer(root, fault)
    observer.install()
    code = 1
    try:
        for words in commands:
            code = main(words)
            if code:
                break
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if fault is None:
        (notes / OPERATIONS).write_text(json.dumps([(one.kind, one.path) for one in observer.operations]))
    os._exit(code)
