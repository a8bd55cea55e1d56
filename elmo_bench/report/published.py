"""Published records: read, checked, and grouped into blocks whose numbers may stand side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from elmo_bench.conditions import (
    choose_encoder,
    fingerprint_of,
    flatten,
    is_baseline,
    is_bilm,
    is_untrained,
    reduce_elmo,
)
from elmo_bench.hashing import SEAL
from elmo_bench.records import (
    EnsembleRecord,
    NeighboursRecord,
    PerplexityRecord,
    PretrainingRecord,
    Record,
    form_record,
    read_content,
)
from elmo_bench.report.baseline import (
    differs_in_elmo_alone,
    place_of,
    prescribed_fraction,
    setting_of,
    share_of,
    words_of,
)
from elmo_bench.report.comparison import Run, Seeds
from elmo_bench.report.shapes import find_misshapen, find_missing
from elmo_bench.types import DamagedFileError

GENERATED = "sample"  # the source that this project writes itself
USUAL_NUMBERS = "float16"  # in which layers are stored unless a run says otherwise
Key = TypeVar("Key", "Block", str)
Kept = TypeVar("Kept", EnsembleRecord, PerplexityRecord)


@dataclass(frozen=True, order=True)
class Block:
    """One source, corpus, size and encoder: numbers of different blocks never share a table."""

    source: str
    corpus: str
    size: str
    encoder: str = ""  # empty where no run with ELMo is published
    fingerprint: str = ""
    chosen_by: tuple[str, ...] = field(default=(), compare=False)  # the overrides that choose the encoder


@dataclass(frozen=True, order=True)
class Sheet:
    """One source, size and encoder: what one table shows, each task on the corpora that it was run on."""

    source: str
    size: str
    encoder: str = ""  # empty where no run with ELMo is published
    fingerprint: str = ""
    chosen_by: tuple[str, ...] = field(default=(), compare=False)

    def on(self, corpus: str) -> Block:
        """The part of the sheet that is about one corpus."""
        return Block(self.source, corpus, self.size, self.encoder, self.fingerprint, self.chosen_by)


def rank_source(source: str) -> tuple[bool, bool, str]:
    """The order of sources in a report: the paper's data first, the generated world last."""
    return source == GENERATED, source != "paper", source


@dataclass(frozen=True)
class Wanted:
    """The condition of a cell."""

    elmo: Literal["none"] | Mapping[str, Any]  # what differs from the defaults of the task
    words: Literal["usual", "none", "any"] = "usual"
    fraction: float | None = None  # of the training set; None: as the size prescribes
    limit: int | None = None  # of the training examples
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the task, dotted; not the usual ones

    def fits(self, record: Record) -> bool:
        """Whether a run has these settings of the task and of ELMo, whose defaults stand in the record."""
        task = record.config.get("task", {})
        settings = dict(flatten(task.get("settings", {}))) if self.settings else {}
        if any(settings.get(key) != value for key, value in self.settings.items()):
            return False
        if self.elmo == "none":
            return is_baseline(record)
        values = {"layers": "all", "gamma": "learned", "where": None, **task.get("elmo", {}), **self.elmo}
        return bool(record.identity["elmo"] == reduce_elmo(values))


BASELINE = Wanted("none")
PAPER = Wanted({})


@dataclass(frozen=True)
class TaskRuns:
    """The runs of one task in one block."""

    runs: tuple[Run, ...]

    @property
    def fraction(self) -> float:
        """The fraction of the training set that the size prescribes, as most records say."""
        counts = Counter(prescribed_fraction(run.record) for run in self.runs)
        return max(counts, key=lambda fraction: (counts[fraction], fraction), default=1.0)

    def find(self, wanted: Wanted) -> Seeds:
        """The runs of one condition by seed; none where there are none."""
        if not (usual := self.usual):
            return {}
        setting, words = setting_of(usual, wanted.settings), words_of(usual)
        fraction = self.fraction if wanted.fraction is None else wanted.fraction
        fitting: dict[str, dict[int, Run]] = defaultdict(dict)
        for run in keep_usual_numbers(self.runs):
            record = run.record
            if (
                setting_of(record, wanted.settings) == setting
                and wanted.fits(record)
                and share_of(record) == (fraction, wanted.limit)
                and _words_fit(record, wanted, words)
            ):
                fitting[record.condition][run.seed] = run
        return max(fitting.values(), key=lambda seeds: (len(seeds), *_age(seeds)), default={})

    def baseline(self, seeds: Seeds, wanted: Wanted, besides: Collection[str] = ()) -> Seeds:
        """The runs that a gain is over, if the others differ from them in ELMo alone.

        `besides` names settings that may differ, where a row says that it has others than the usual ones.
        """
        found = self.find(wanted)
        if not seeds or not found:
            return {}
        record, other = (next(iter(runs.values())).record for runs in (seeds, found))
        is_other = record.condition != other.condition
        return found if is_other and differs_in_elmo_alone(record, other, besides) else {}

    @property
    def usual(self) -> Record | None:
        """A run with the settings and word vectors of the cells.

        Settings of the newest task version come first, then those of most runs.
        """
        groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for run in self.runs:
            groups[setting_of(run.record), words_of(run.record)].append(run.record)
        if not groups:
            return None
        return groups[max(groups, key=lambda key: (*_version(groups[key][0]), len(groups[key]), key))][0]

    def shares(self) -> set[tuple[float, int | None]]:
        """The parts of the training set that there are runs on: the fraction, and the limit on examples."""
        return {share_of(run.record) for run in self.runs}


@dataclass(frozen=True)
class Published:
    """All published records, and what is wrong with those that cannot be shown."""

    runs: tuple[Run, ...]
    perplexities: tuple[PerplexityRecord, ...]  # of fine-tuned biLMs
    neighbours: tuple[NeighboursRecord, ...]
    problems: tuple[str, ...]
    broken: tuple[str, ...] = ()  # of the problems, those of files that cannot be read as they are
    ensembles: tuple[EnsembleRecord, ...] = ()
    pretrainings: Mapping[str, PretrainingRecord] = field(default_factory=dict)  # by the name of the model

    def blocks(self) -> list[Block]:
        """Every block that has a run; the generated world comes last."""
        places = {place_of(run.record) for run in self.runs}
        found = {block_of(run.record) for run in self.runs if not is_baseline(run.record)}
        served = {(block.source, block.corpus, block.size) for block in found}
        alone = {Block(*place) for place in places if place not in served}
        return sorted(found | alone, key=lambda block: (rank_source(block.source), block))

    def first_encoder(self, block: Block) -> Block:
        """Of the blocks that differ in the encoder alone, the one that is shown first."""
        place = (block.source, block.corpus, block.size)
        runs = (run.record for run in self.runs if not is_baseline(run.record))
        return most_used((record for record in runs if place_of(record) == place), block_of) or block

    def is_first(self, sheet: Sheet) -> bool:
        """Whether no other encoder of the source and size is shown before."""
        runs = (run.record for run in self.runs if not is_baseline(run.record))
        here = (record for record in runs if (record.source, record.size) == (sheet.source, sheet.size))
        return sheet.fingerprint in ("", most_used(here, fingerprint_of))

    def of_task(self, block: Block, task: str) -> TaskRuns:
        """The runs of a task that belong to a block, with or without ELMo."""
        place = (block.source, block.corpus, block.size)
        return TaskRuns(
            tuple(
                run
                for run in self.runs
                if run.record.task == task
                and place_of(run.record) == place
                and (is_baseline(run.record) or block_of(run.record) == block)
            )
        )


def keep_usual_numbers(runs: Sequence[Run]) -> list[Run]:
    """The runs without an encoder, and those that store its layers in the type of numbers that most do.

    Another type is another condition, which no cell mixes with this one or shows in its place.
    """
    counts = Counter(stored_type(run.record) for run in runs if not is_baseline(run.record))
    usual = max(counts, key=lambda dtype: (counts[dtype], dtype == USUAL_NUMBERS, dtype), default="")
    return [run for run in runs if is_baseline(run.record) or stored_type(run.record) == usual]


def stored_type(record: Record) -> str:
    """The type of stored numbers; older records say nothing of it."""
    return str(record.identity.get("store", {}).get("dtype", USUAL_NUMBERS))


def sheets_of(blocks: Iterable[Block]) -> list[Sheet]:
    """The sheets that some blocks are parts of; a block without an encoder is part of those of its source."""
    sheets = dict.fromkeys(
        Sheet(block.source, block.size, block.encoder, block.fingerprint, block.chosen_by) for block in blocks
    )
    served = {(sheet.source, sheet.size) for sheet in sheets if sheet.encoder}
    return [sheet for sheet in sheets if sheet.encoder or (sheet.source, sheet.size) not in served]


def block_of(record: Record) -> Block:
    """The block of a run with ELMo."""
    name = record.encoder or ""
    chosen_by = tuple(choose_encoder(name, record.config.get("encoder")))
    return Block(*place_of(record), name, fingerprint_of(record), chosen_by)


def most_used(records: Iterable[Record], key: Callable[[Record], Key]) -> Key | None:
    """The key of most runs with ELMo; those of a trained biLM come first, because the paper is about it."""
    counts: Counter[Key] = Counter()
    bilms: set[Key] = set()
    for record in records:
        counts[key(record)] += 1
        if is_bilm(record.config.get("encoder")) and not is_untrained(record.encoder or ""):
            bilms.add(key(record))
    return max(counts, key=lambda found: (found in bilms, counts[found], found), default=None)


@dataclass
class _Reader:
    """Collects records, and names every file that is left out."""

    runs: dict[tuple[str, str, int], Run] = field(default_factory=dict)
    perplexities: list[PerplexityRecord] = field(default_factory=list)
    neighbours: list[NeighboursRecord] = field(default_factory=list)
    ensembles: list[EnsembleRecord] = field(default_factory=list)
    pretrainings: dict[str, PretrainingRecord] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def read(self, path: Path, name: str) -> None:
        try:
            content = read_content(path)
            kind = content.get("kind")
            if kind == "run":
                record = form_record(Record, content, path)
                self.add(Run(record, path.with_suffix(".npz"), SEAL in content), name)
            elif kind == "ensemble":
                self.keep(form_record(EnsembleRecord, content, path), self.ensembles, name)
            elif kind == "pretraining":
                model, _, _ = path.stem.rpartition("-")  # what follows is the beginning of its identity
                self.pretrainings[model or path.stem] = form_record(PretrainingRecord, content, path)
            elif kind == "perplexity":
                self.keep(form_record(PerplexityRecord, content, path), self.perplexities, name)
            elif kind == "neighbours":
                self.neighbours.append(form_record(NeighboursRecord, content, path))
            else:
                self.problems.append(f"{name} is not shown: a record of the unknown kind {kind!r}")
        except DamagedFileError as error:
            self.refuse(f"{name} is not shown: {error}")

    def keep(self, record: Kept, kept: list[Kept], name: str) -> None:
        """Keep a record that may be published."""
        if reason := record.unpublishable:
            self.problems.append(f"{name} is not shown: {reason}")
        else:
            kept.append(record)

    def add(self, run: Run, name: str) -> None:
        record = run.record
        if reason := record.unpublishable:
            self.problems.append(f"{name} is not shown: {reason}")
        elif misshapen := next(find_misshapen(record), None):
            self.refuse(f"{name} is not shown: {misshapen}")
        elif missing := list(missing_facts(record)):
            self.refuse(f"{name} is not shown: the record has no {', no '.join(missing)}")
        elif run.key in self.runs:
            self.problems.append(f"{name} is not shown: {self.runs[run.key].counts.stem} is the same run")
        else:
            self.runs[run.key] = run

    def refuse(self, problem: str) -> None:
        """Leave a broken record out."""
        self.problems.append(problem)
        self.broken.append(problem)


def missing_facts(record: Record) -> Iterator[str]:
    """What tables need of a run and a record does not have."""
    yield from find_missing(record)
    for split in ("dev", "test"):
        if record.metric not in record.scores.get(split, {}):
            yield f"scores.{split}.{record.metric}"
        if split not in record.examples:
            yield f"examples.{split}"


def read_published(directory: Path) -> Published:
    """All records below a directory; a file that is not shown is named with the reason."""
    reader = _Reader()
    for path in sorted(directory.rglob("*.json")):
        reader.read(path, str(path.relative_to(directory)))
    return Published(
        runs=tuple(reader.runs.values()),
        perplexities=tuple(reader.perplexities),
        neighbours=tuple(reader.neighbours),
        problems=tuple(reader.problems),
        broken=tuple(reader.broken),
        ensembles=tuple(reader.ensembles),
        pretrainings=reader.pretrainings,
    )


def code_of(record: Record) -> tuple[str, str]:
    """The code that a run is from: the commit of a clone, or the version of an installed package."""
    commit = record.environment.get("commit")
    return ("commit", commit[:9]) if commit else ("version", record.environment.get("version", "unknown"))


def describe_code(codes: Iterable[tuple[str, str]]) -> str:
    """`commits a, b and version c`."""
    names: dict[str, list[str]] = defaultdict(list)
    for kind, name in sorted(set(codes)):
        names[kind].append(name)
    return " and ".join(f"{kind}{'s' * (len(own) > 1)} {', '.join(own)}" for kind, own in names.items())


def _version(record: Record) -> tuple[int, int]:
    return record.task_version, int(record.identity["numerics"])


def _age(seeds: Seeds) -> tuple[int, int]:
    return _version(next(iter(seeds.values())).record)


def _words_fit(record: Record, wanted: Wanted, usual: str) -> bool:
    if wanted.words == "usual":
        return words_of(record) == usual
    kind = record.identity["words"]["kind"]
    return bool((kind == "none") == (wanted.words == "none"))
