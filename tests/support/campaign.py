"""A campaign of faults against whole commands: each is disturbed, then typed again, and must end undisturbed.

Every trial begins with a copy of a small prepared tree in the same place, so that two trials differ in their
fault alone. Commands are processes that are forked after the imports, and take a second or two.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from elmo_bench import world
from elmo_bench.cli import embed
from elmo_bench.cli.main import main
from elmo_bench.files import CHECKSUMS
from elmo_bench.nn.compiled import cache_directory
from elmo_bench.world import WorldSize
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
from tests.support.faults import FILLER, Effect, Fault, Observer
from tests.support.processes import ONE_THREAD, PROCESSES, start_server

SMALL = WorldSize(
    text=4, heldout=1, pos=(1, 1, 1), ner=(1, 1, 1), srl=(1, 1, 1), wsd=(1, 1, 1),
    sst5=(3, 3, 3), snli=(3, 3, 3), coref=(1, 1, 1), squad=(1, 1, 1),
)  # fmt: skip
BRIEF = ("steps=4", "curve_every=2", "curve_tokens=50")
ALWAYS = ("trainer.checkpoint_seconds=0", "trainer.threads=1")
RUN = (
    *("task=ner", "bilm@encoder.bilm=tiny", "size=ner_sample"),
    *("task.training.epochs=2", "task.training.evaluate_every=null", "task.training.batch_size=8"),
    *(f"encoder.bilm.{word}" for word in BRIEF),
)
WAYS: tuple[Damage, ...] = (flip, truncate, empty, delete, become_directory, become_dangling)
VOLATILE = {"seconds", "environment", "speed"}  # values of a record that no two runs share
DIFFERING = re.compile(r"[0-9a-f]{8,}|\d+")  # hashes and indices
LOG_OF_SWEEPS = "sweeps"  # of every sweep that was started


@dataclass(frozen=True)
class Scenario:
    """A command, and the ones whose results it finds."""

    words: Callable[[Path], list[str]]
    after: tuple[str, ...] = ()


def paths(root: Path) -> list[str]:
    return [f"paths.{name}={root / name}" for name in ("runs", "cache", "records", "models")]


def words_of_run(root: Path) -> list[str]:
    return ["run", *RUN, *ALWAYS, *paths(root)]


def words_of_sweep(root: Path) -> list[str]:
    return ["run", "-m", *RUN, "elmo=none,paper", "seed=2", *ALWAYS, *paths(root)]


def words_of_pretraining(root: Path) -> list[str]:
    brief = [f"bilm.{word}" for word in BRIEF]
    return ["pretrain", "bilm=tiny", f"corpus={root / 'text'}", *brief, *ALWAYS, *paths(root)]


def words_of_embedding(root: Path) -> list[str]:
    encoder = ["encoder=model", f"encoder.directory={root / 'models' / 'tiny'}"]
    return ["embed", str(root / "text" / "heldout.txt"), str(root / "out.hdf5"), *encoder, *paths(root)]


def words_of_prediction(root: Path) -> list[str]:
    (run,) = (root / "runs" / "ner").glob("*-s1")
    (own,) = (root / "cache" / "world").glob("v*/ner/test.conll")
    return ["predict", str(run), str(own), "--output", str(root / "tagged.jsonl"), *paths(root)]


SCENARIOS = {
    "run": Scenario(words_of_run),
    "pre-training": Scenario(words_of_pretraining),
    "sweep": Scenario(words_of_sweep, ("run",)),
    "publishing": Scenario(lambda root: ["publish", *paths(root)], ("run", "pre-training")),
    "embedding": Scenario(words_of_embedding, ("pre-training",)),
    "predicting": Scenario(words_of_prediction, ("run",)),
}


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, all that it printed, and its file operations by kind."""

    code: int
    output: str
    counts: Counter[str]


@dataclass(frozen=True)
class Outcome:
    """What became of one fault."""

    scenario: str
    fault: str
    kind: str  # of the fault
    end: str
    details: str = ""


@dataclass
class Campaign:
    """A place for trees, and all that was tried in it."""

    directory: Path
    outcomes: list[Outcome] = field(default_factory=list)
    expected: dict[str, dict[str, str]] = field(default_factory=dict)
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """Where every command works."""
        return self.directory / "tree"

    def kept(self, name: str) -> Path:
        """A tree to begin with, or to compare with."""
        return self.directory / f"kept-{name}"

    def finished(self, name: str) -> Path:
        """The tree that an undisturbed command leaves; it is made when it is first asked for."""
        if not self.kept(name).exists():
            self.restore(self.beginning(name))
            ended = self.perform(name)
            assert ended.code == 0, ended.output
            self.counts[name] = ended.counts
            self.expected[name] = describe(self.root)
            shutil.copytree(self.root, self.kept(name), symlinks=True)
        return self.kept(name)

    def beginning(self, name: str) -> Path:
        """The tree that a command finds: texts, the compiled library, and what other commands have left."""
        before = self.kept(f"before-{name}")
        if not before.exists():
            for text in ("train.txt", "heldout.txt"):
                write_text(before / "text" / text)
            shutil.copytree(cache_directory(), before / "home" / "elmo_bench")
            for earlier in SCENARIOS[name].after:
                shutil.copytree(self.finished(earlier), before, symlinks=True, dirs_exist_ok=True)
        return before

    def restore(self, tree: Path) -> None:
        """Begin again with a copy of a tree."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.with_name(FILLER).unlink(missing_ok=True)
        shutil.copytree(tree, self.root, symlinks=True)

    def perform(self, name: str, fault: Fault | None = None) -> Ended:
        """Type the command of a scenario."""
        return self.execute(SCENARIOS[name].words(self.root), fault)

    def execute(self, words: list[str], fault: Fault | None = None) -> Ended:
        start_server()
        reading, output = PROCESSES.Pipe(duplex=False)
        results, result = PROCESSES.Pipe(duplex=False)
        process = PROCESSES.Process(target=_execute, args=(self.root, words, fault, output, result))
        process.start()
        output.close()
        result.close()
        printed = b"".join(iter(lambda: os.read(reading.fileno(), 1 << 16), b""))
        process.join(120)
        process.kill()
        counts = results.recv() if process.exitcode is not None and process.exitcode >= 0 else Counter()
        return Ended(process.exitcode or 0, printed.decode(errors="replace"), counts)

    def try_fault(self, name: str, fault: Fault) -> Outcome:
        """Disturb a command once, then type it again."""
        self.finished(name)
        self.restore(self.beginning(name))
        first = self.perform(name, fault)
        struck = first.code < 0 or self.root.with_name(FILLER).exists() or first.code > 0
        self.root.with_name(FILLER).unlink(missing_ok=True)
        said = "" if "Traceback" not in first.output else f"a traceback:\n{first.output}"
        again = self.perform(name)
        end = "survived" if again.code == 0 else "failed"
        difference = compare(self.expected[name], describe(self.root))
        if difference and end == "survived":
            self.execute(["store", "clean", "--outdated", *paths(self.root)])
            cleaned = compare(self.expected[name], describe(self.root))
            end, difference = ("failed", cleaned) if cleaned else ("survived, cleaned", difference)
        if said:
            end = "failed"
        details = "\n".join([said, *difference, again.output if again.code else ""]).strip()
        return self.note(
            Outcome(name, str(fault), f"{fault.effect}: {fault.kind}", end if struck else "not met", details)
        )

    def try_damage(self, name: str, tree: str, victim: str, damage: Damage) -> Outcome:
        """Damage one file of a tree, then type the command."""
        self.finished(name)
        self.restore(self.kept(tree))
        path = self.root / victim
        damage(path)
        damaged = describe(self.root)
        again = self.perform(name)
        after, expected = describe(self.root), self.expected[name]
        others = compare(without(expected, victim), without(after, victim))
        untouched = without(damaged, victim, invert=True) == without(after, victim, invert=True)
        if again.code == 0 and after == expected:
            end = "made again"
        elif again.code == 0 and not others and untouched:
            end = "not read"
        elif again.code > 0 and path.name in again.output and untouched and "Traceback" not in again.output:
            end = "refused by name"
        else:
            end = "failed"
        details = "\n".join([*compare(expected, after), again.output]) if end == "failed" else ""
        label = f"{damage.__name__} {victim}"
        return self.note(Outcome(name, label, f"damage: {kind_of_file(victim)}", end, details))

    def note(self, outcome: Outcome) -> Outcome:
        self.outcomes.append(outcome)
        return outcome

    def faults(self, name: str, effects: tuple[Effect, ...], chooser: random.Random) -> Iterator[Fault]:
        """Endless choices of faults, each kind of operation in turn."""
        self.finished(name)
        while True:
            for kind, count in sorted(self.counts[name].items()):
                for effect in effects:
                    number = chooser.randrange(count)
                    if effect != "kill while writing":
                        yield Fault(effect, kind, number)
                    elif kind == "open":
                        yield Fault(effect, kind, number, chooser.choice((0, 1, 100, 1000, 10_000)))

    def halfway(self, name: str) -> str:
        """The name of a tree that a killed command has left, late in its work."""
        tree = f"halfway-{name}"
        if not self.kept(tree).exists():
            self.finished(name)
            self.restore(self.beginning(name))
            self.perform(name, Fault("kill", "fsync", 3 * self.counts[name]["fsync"] // 4))
            shutil.copytree(self.root, self.kept(tree), symlinks=True)
        return tree

    def victims(self, tree: str) -> dict[str, list[str]]:
        """The files of a tree by their kind; what the test itself has put there is not among them."""
        found = defaultdict(list)
        for path in sorted(self.kept(tree).rglob("*")):
            name = path.relative_to(self.kept(tree)).as_posix()
            if path.is_file() and not name.startswith("text/") and "sweeps/" not in name:
                found[kind_of_file(name)].append(name)
        return found

    def ways(self, tree: str, victim: str) -> tuple[Damage, ...]:
        """What can be done to a file; an empty one has no content to change."""
        is_empty = (self.kept(tree) / victim).stat().st_size == 0
        return tuple(way for way in WAYS if not (is_empty and way in CONTENT))

    def table(self) -> str:
        """What was tried and what became of it, by scenario and kind of fault."""
        rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for outcome in self.outcomes:
            rows[outcome.scenario, outcome.kind][outcome.end] += 1
        ends = sorted({outcome.end for outcome in self.outcomes})
        lines = ["| command | fault | tried | " + " | ".join(ends) + " |", "|---" * (3 + len(ends)) + "|"]
        for (scenario, kind), counts in sorted(rows.items()):
            cells = [scenario, kind, counts.total(), *(counts[end] or "" for end in ends)]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        return "\n".join(lines)


def write_text(path: Path) -> None:
    """A text to learn from."""
    path.parent.mkdir(parents=True, exist_ok=True)
    chooser = random.Random(path.name)
    path.write_text("".join(" ".join(chooser.choices("abcdefgh", k=6)) + "\n" for _ in range(20)))


def kind_of_file(name: str) -> str:
    """The path of a file without what differs between files of one kind: hashes, indices, splits."""
    parts = [part if part == CHECKSUMS else DIFFERING.sub("#", part) for part in name.split("/")]
    is_of_world = parts[:2] == ["cache", "world"] and len(parts) > 3 and parts[-1] != CHECKSUMS
    return "/".join([*parts[:3], "*"] if is_of_world else parts)


def describe(root: Path) -> dict[str, str]:
    """Every path below a directory with what may not depend on how it got there."""
    found = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if any(part == LOG_OF_SWEEPS or part.endswith(".lock") for part in relative.parts):
            continue  # a lock file may stay or go
        if path.is_symlink():
            found[relative.as_posix()] = f"link to {path.readlink()}"
        elif path.is_dir():
            found[relative.as_posix()] = "directory"
        else:
            found[relative.as_posix()] = hashlib.sha256(constant_part(path)).hexdigest()
    return found


def constant_part(path: Path) -> bytes:
    """The content of a file without measured times, and without the hash of a record that has them."""
    content = path.read_bytes()
    if path.suffix == ".speed" and hashlib.sha256(content[32:]).digest() == content[:32]:
        return b"a sound measurement"
    if path.suffix != ".json":
        return content
    try:
        values = json.loads(content)
    except ValueError:
        return content
    return json.dumps(without_times(values), sort_keys=True).encode()


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        gone = VOLATILE | ({"sha256"} if VOLATILE & value.keys() else set())
        return {key: without_times(inner) for key, inner in value.items() if key not in gone}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def without(tree: dict[str, str], victim: str, *, invert: bool = False) -> dict[str, str]:
    """A described tree without one path and what is below it, or only these."""
    return {
        name: content
        for name, content in tree.items()
        if (name == victim or name.startswith(f"{victim}/")) == invert
    }


def compare(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    """The paths in which two trees differ."""
    lines = [f"left over: {name}" for name in found.keys() - expected.keys()]
    lines += [f"missing: {name}" for name in expected.keys() - found.keys()]
    lines += [f"another: {name}" for name in expected.keys() & found.keys() if expected[name] != found[name]]
    return sorted(lines)


def _execute(
    root: Path, words: list[str], fault: Fault | None, output: Connection, result: Connection
) -> None:
    """What a command does, in its process."""
    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    output.close()
    sys.stdout, sys.stderr = (os.fdopen(descriptor, "w", closefd=False) for descriptor in (1, 2))
    os.environ.update(ONE_THREAD, XDG_CACHE_HOME=str(root / "home"))
    write = world.write_world
    world.write_world = lambda directory: write(directory, SMALL)  # type: ignore[assignment]
    embed.TOKENS_AT_ONCE = 24
    observer = Observer(root, fault)
    observer.install()
    code = main(words)
    result.send(observer.counts)
    sys.exit(code)
