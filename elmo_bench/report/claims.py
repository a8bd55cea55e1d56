"""What a finding asks of published runs: which runs are its two conditions, and which command makes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elmo_bench.commands import spell_run
from elmo_bench.conditions import is_baseline, is_untrained, trained_name
from elmo_bench.config import ElmoConfig, FindingConfig, nearest
from elmo_bench.records import Record
from elmo_bench.report.baseline import place_of, setting_of, words_of
from elmo_bench.report.comparison import Run, Seeds, pair_seeds
from elmo_bench.report.convergence import met_cap
from elmo_bench.report.inference import SEEDS_NEEDED
from elmo_bench.report.paper import lookup
from elmo_bench.report.published import GENERATED, Block, Published, TaskRuns, Wanted, block_of, most_used
from elmo_bench.types import UsageError

GROUP = "elmo."
ELMO_KEYS = sorted(field.alias or name for name, field in ElmoConfig.model_fields.items())
KEYS = (*(GROUP + key for key in ELMO_KEYS), "encoder.untrained", "words", "data.fraction")
DataSetting = tuple[str, str, str]
"""Source, corpus and size."""


@dataclass(frozen=True)
class Condition:
    """One side of a finding, as published runs are searched for it."""

    overrides: tuple[str, ...]  # that make its runs
    wanted: Wanted
    untrained: bool = False  # the twin of the encoder that most runs of the place have


@dataclass(frozen=True)
class Sides:
    """The published runs of both conditions at one place; a finding about one condition has no first."""

    place: DataSetting | None  # none where no run is published
    encoder: str  # of the second condition; empty where no run has one
    first: Seeds
    second: Seeds
    single: bool = False  # the finding is about one condition
    chosen_by: tuple[str, ...] = ()  # the overrides that choose the encoder, or the one it is the twin of

    @property
    def pairs(self) -> list[tuple[Run, Run]]:
        """The runs of the seeds that both have."""
        return pair_seeds(self.first, self.second)

    @property
    def seeds(self) -> int:
        """The number of seeds that the effect can be measured with."""
        return len(self.second) if self.single else len(self.pairs)

    @property
    def setting(self) -> str:
        """Corpus, size and encoder in words."""
        if self.place is None:
            return ""
        _, corpus, size = self.place
        return ", ".join(filter(None, [corpus, f"size {size}", self.encoder]))

    @property
    def records(self) -> list[Record]:
        """The records of both sides."""
        return [run.record for seeds in (self.second, self.first) for run in seeds.values()]


def read_condition(overrides: Mapping[str, Any], where: str) -> Condition:
    """A condition from the overrides that make its runs; tables vary nothing but these keys."""
    for key in overrides:
        if key not in KEYS:
            hint = nearest(key, list(KEYS))
            raise UsageError(f"{where}.{key}: a finding cannot vary this{hint} ({', '.join(KEYS)})")
    if overrides.get("words", "none") != "none":
        raise UsageError(f"{where}.words={overrides['words']}: expected none; left out, they are the usual")
    elmo = {key.removeprefix(GROUP): value for key, value in overrides.items() if key.startswith(GROUP)}
    fraction = overrides.get("data.fraction")
    wanted = Wanted(
        "none" if elmo.get("where") == "none" else elmo,
        words="none" if "words" in overrides else "usual",
        fraction=None if fraction is None else float(fraction),
    )
    words = tuple(f"{key}={value}" for key, value in overrides.items())
    return Condition(words, wanted, bool(overrides.get("encoder.untrained")))


def conditions_of(finding: FindingConfig, where: str) -> tuple[Condition | None, Condition]:
    """Both sides of a finding."""
    first = None if finding.first is None else read_condition(finding.first, f"{where}.first")
    return first, read_condition(finding.second, f"{where}.second")


@dataclass(frozen=True)
class Archive:
    """Published runs as findings search them."""

    published: Published

    def places(self, source: str, task: str) -> list[DataSetting]:
        """Where a source has runs of a task."""
        records = (run.record for run in self.published.runs)
        return sorted(
            {place_of(record) for record in records if (record.source, record.task) == (source, task)}
        )

    def find(self, place: DataSetting, task: str, first: Condition | None, second: Condition) -> Sides:
        """The runs of both conditions, of the settings that `_preference` puts first.

        Settings are training and head: runs that differ in them are never compared.
        """
        runs = [self._runs(place, task, condition) for condition in (first, second) if condition]
        block, single = self._block(place, task, second), first is None
        chosen = tuple(word for word in block.chosen_by if not word.startswith("encoder.untrained="))
        none = Sides(place, block.encoder, {}, {}, single, chosen)
        found = [(0, none)]
        settings = Counter(setting_of(run.record) for one in runs for run in one.runs)
        for setting, count in sorted(settings.items()):
            alike = [
                TaskRuns(tuple(run for run in one.runs if setting_of(run.record) == setting)) for one in runs
            ]
            after = alike[-1].find(second.wanted)
            before = alike[0].find(first.wanted) if first else {}
            sides = replace(none, first=before, second=after)
            may_differ = first and first.wanted.words != second.wanted.words
            if may_differ or len({words_of(record) for record in sides.records}) < 2:
                found.append((count, sides))
        return max(found, key=lambda one: _preference(*one))[1]

    def _runs(self, place: DataSetting, task: str, condition: Condition) -> TaskRuns:
        """The runs of a task at a place that have the condition's encoder or none, and its kind of words."""
        found = self.published.of_task(self._block(place, task, condition), task)
        fitting = (run for run in found.runs if _words_are(condition.wanted.words, run.record))
        return TaskRuns(tuple(fitting))

    def _block(self, place: DataSetting, task: str, condition: Condition) -> Block:
        """The block of a condition: that of the task's usual trained encoder, or of its twin."""
        here = [
            run.record
            for run in self.published.runs
            if place_of(run.record) == place and not is_baseline(run.record)
        ]
        runs = [record for record in here if record.task == task] or here
        trained = most_used((record for record in runs if not is_untrained(record.encoder or "")), block_of)
        if not condition.untrained:
            return trained or Block(*place)
        twins = [record for record in runs if is_untrained(record.encoder or "")]
        own = [twin for twin in twins if trained and trained_name(twin.encoder or "") == trained.encoder]
        return most_used(own if trained else twins, block_of) or Block(*place)

    def usual_encoder(self, source: str) -> Block:
        """A block with the usual encoder of a source, for commands at a place without runs."""
        runs = (run.record for run in self.published.runs if run.record.source == source)
        trained = (
            record for record in runs if not is_baseline(record) and not is_untrained(record.encoder or "")
        )
        return most_used(trained, block_of) or Block(source, "", "")


def _words_are(wanted: str, record: Record) -> bool:
    """Whether a run has no word vectors where none are wanted, and where the task has none of its own."""
    own = record.config.get("task", {}).get("words", {}).get("kind")
    return bool((record.identity["words"]["kind"] == "none") == (wanted == "none" or own == "none"))


def _preference(count: int, sides: Sides) -> tuple[bool, tuple[int, int], bool, int, int, int]:
    """Settings that both sides have, of the newest version, that have converged, with most seeds and runs.

    `count` is the number of runs of any condition with these settings: the usual settings of a task have
    more than those of a row that varies one of them.
    """
    records = sides.records
    version = (records[0].task_version, int(records[0].identity["numerics"])) if records else (0, 0)
    converged = not any(map(met_cap, records))
    return sides.seeds > 0, version, converged, sides.seeds, len(records), count


def seeds_needed(finding: FindingConfig) -> int:
    """How many seeds a finding's test needs."""
    return 1 if finding.test == "examples" else SEEDS_NEEDED


@dataclass(frozen=True)
class Command:
    """What a person types to make runs: the task, and the other overrides."""

    task: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return spell_run([f"task={self.task}", *self.words], sweep=True)


def command_for(task: str, source: str, condition: Condition, seeds: Sequence[int], sides: Sides) -> Command:
    """The command that makes the runs of a condition."""
    words = [f"data={source}"]
    if source == "files":
        words += [f"data.{split}=FILE" for split in ("train", "dev", "test")]
    if sides.place and source not in (GENERATED, "files"):
        _, corpus, size = sides.place
        words.append(f"data.corpus={corpus}")
        if size == "paper" and source != "paper":
            words.append("size=paper")
    if condition.wanted.elmo != "none":
        words += sides.chosen_by
    return Command(task, (*words, f"seed={','.join(map(str, seeds))}", *condition.overrides))


def merge_commands(commands: Iterable[Command]) -> list[str]:
    """Commands that differ in the task alone as one."""
    tasks: dict[tuple[str, ...], list[str]] = {}
    for command in commands:
        known = tasks.setdefault(command.words, [])
        if command.task not in known:
            known.append(command.task)
    return [str(Command(",".join(names), words)) for words, names in tasks.items()]


def paper_number(path: str, names: Mapping[str, str | None], where: str) -> Any:
    """What the paper prints at a path of its file, with its own names of task and text put in."""
    parts = [str(names.get(part.strip("{}"))) if part.startswith("{") else part for part in path.split("/")]
    try:
        return lookup(*parts)
    except KeyError as error:
        raise UsageError(f"{where}={path}: the paper's results have no {error}") from None
