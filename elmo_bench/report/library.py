"""Published records in order: blocks whose numbers may stand side by side, and cells of one condition."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from elmo_bench.conditions import is_baseline, reduce_elmo
from elmo_bench.records import (
    NeighboursRecord,
    PerplexityRecord,
    Record,
    read_record,
    read_record_of,
)
from elmo_bench.report.baseline import (
    baseline_of,
    place_of,
    prescribed_fraction,
    setting_of,
    share_of,
    words_of,
)
from elmo_bench.report.comparison import Run, Seeds
from elmo_bench.types import DamagedFileError

GENERATED = "sample"  # the source that this project writes itself


@dataclass(frozen=True, order=True)
class Block:
    """Numbers of one source, corpus, size and encoder: no others share a column with them."""

    source: str
    corpus: str
    size: str
    encoder: str = ""  # empty where only runs without ELMo are published
    fingerprint: str = ""


@dataclass(frozen=True)
class Wanted:
    """The condition of a cell, told by what differs from the paper's choice for the task."""

    where: str | None = None
    layers: str | int | None = None
    lam: float | None = None
    words: Literal["usual", "none", "any"] = "usual"
    fraction: float | None = None  # None: as much of the training set as the size has

    def elmo(self, record: Record) -> dict[str, Any]:
        """The `elmo` part of an identity that this asks for, given the defaults a record carries."""
        values = {"layers": "all", "gamma": "learned", **record.config["task"]["elmo"]}
        changes = {"where": self.where, "layers": self.layers, "lambda": self.lam}
        values |= {key: value for key, value in changes.items() if value is not None}
        return reduce_elmo(values)


BASELINE = Wanted(where="none")
PAPER = Wanted()


@dataclass(frozen=True)
class Library:
    """What is published; the problems are told with the tables."""

    runs: tuple[Run, ...]
    perplexities: tuple[PerplexityRecord, ...]  # of fine-tuned biLMs
    neighbours: tuple[NeighboursRecord, ...]
    problems: tuple[str, ...]

    def blocks(self) -> list[Block]:
        """Every block there is a run of; the generated world comes last."""
        places = {place_of(run.record) for run in self.runs}
        found = {block_of(run.record) for run in self.runs if not is_baseline(run.record)}
        served = {(block.source, block.corpus, block.size) for block in found}
        alone = {Block(*place) for place in places if place not in served}
        return sorted(found | alone, key=lambda block: (block.source == GENERATED, block))

    def first_encoder(self, block: Block) -> Block:
        """Of the blocks that differ in the encoder alone, the one with the most runs."""
        place = (block.source, block.corpus, block.size)
        numbers = Counter(block_of(run.record) for run in self.runs if not is_baseline(run.record))
        rivals = [other for other in numbers if (other.source, other.corpus, other.size) == place]
        return max(rivals, key=lambda other: (numbers[other], other), default=block)

    def shelf(self, block: Block, task: str) -> Shelf:
        """The runs of a task that belong to a block, with or without ELMo."""
        place = (block.source, block.corpus, block.size)
        return Shelf(
            tuple(
                run
                for run in self.runs
                if run.record.task == task
                and place_of(run.record) == place
                and (is_baseline(run.record) or block_of(run.record) == block)
            )
        )


@dataclass(frozen=True)
class Shelf:
    """The runs of one task in one block."""

    runs: tuple[Run, ...]

    @property
    def fraction(self) -> float:
        """How much of the training set the size prescribes, as most records say."""
        counts = Counter(prescribed_fraction(run.record) for run in self.runs)
        return max(counts, key=lambda fraction: (counts[fraction], fraction), default=1.0)

    def find(self, wanted: Wanted) -> Seeds:
        """The runs of one condition by seed; none where there are none."""
        usual = self.usual
        if usual is None:
            return {}
        setting, words = usual
        fraction = self.fraction if wanted.fraction is None else wanted.fraction
        fitting: dict[str, dict[int, Run]] = defaultdict(dict)
        for run in self.runs:
            record = run.record
            if (
                setting_of(record) == setting
                and record.identity["elmo"] == wanted.elmo(record)
                and share_of(record) == (fraction, None)
                and _words_fit(record, wanted, words)
            ):
                fitting[record.condition][run.seed] = run
        return max(fitting.values(), key=lambda seeds: (len(seeds), *_age(seeds)), default={})

    def baseline(self, seeds: Seeds, wanted: Wanted) -> Seeds:
        """The runs of a baseline that is wanted, if they are the baseline of some runs."""
        if not seeds:
            return {}
        found = self.find(wanted)
        record = next(iter(seeds.values())).record
        return found if baseline_of(record, (run.record for run in found.values())) else {}

    @property
    def usual(self) -> tuple[str, str] | None:
        """Setting and word vectors that cells are made of: the newest task version, then the most runs."""
        groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for run in self.runs:
            groups[setting_of(run.record), words_of(run.record)].append(run.record)
        if not groups:
            return None
        return max(groups, key=lambda key: (*_version(groups[key][0]), len(groups[key]), key))

    def left_out(self) -> list[Record]:
        """Runs of other settings, which no cell may show."""
        usual = self.usual
        return [run.record for run in self.runs if usual and setting_of(run.record) != usual[0]]

    def fractions(self) -> list[float]:
        """The parts of the training set there are runs on."""
        return sorted({run.record.identity["data"]["fraction"] for run in self.runs})


def read_library(directory: Path) -> Library:
    """All published records below a directory; what is not a record is named and passed over."""
    runs, perplexities, neighbours = [], [], []
    problems: list[str] = []
    unknown: Counter[str] = Counter()
    for path in sorted(directory.rglob("*.json")):
        try:
            content = json.loads(path.read_bytes())
            kind = content.get("kind") if isinstance(content, dict) else None
            if kind == "run":
                run = Run(read_record(path), path.with_suffix(".npz"))
                if reason := run.record.unpublishable:
                    problems.append(f"{path.name}: {reason}, left out")
                else:
                    runs.append(run)
            elif kind == "perplexity":
                perplexities.append(read_record_of(PerplexityRecord, path))
            elif kind == "neighbours":
                neighbours.append(read_record_of(NeighboursRecord, path))
            else:
                unknown[str(kind)] += 1
        except (DamagedFileError, ValueError) as error:
            problems.append(f"{path.name} is left out: {str(error).splitlines()[0]}")
    problems += [
        f"{count} records of the unknown kind {kind!r} are left out" for kind, count in unknown.items()
    ]
    return Library(tuple(runs), tuple(perplexities), tuple(neighbours), tuple(problems))


def block_of(record: Record) -> Block:
    """The block of a run with ELMo."""
    return Block(*place_of(record), record.encoder or "", record.identity.get("encoder_fingerprint") or "")


def differing(first: Any, second: Any, prefix: str = "") -> Iterator[str]:
    """The dotted keys in which two identities differ, with both values."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted(first.keys() | second.keys()):
            yield from differing(first.get(key), second.get(key), f"{prefix}.{key}" if prefix else key)
    elif first != second:
        yield f"{prefix} {_short(first)} / {_short(second)}"


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text[:12] if len(text) == 64 else text


def _version(record: Record) -> tuple[int, int]:
    return record.task_version, int(record.identity["numerics"])


def _age(seeds: Seeds) -> tuple[int, int]:
    return _version(next(iter(seeds.values())).record)


def _words_fit(record: Record, wanted: Wanted, usual: str) -> bool:
    if wanted.words == "usual":
        return words_of(record) == usual
    kind = record.identity["words"]["kind"]
    return bool((kind == "none") == (wanted.words == "none"))


def commits_of(runs: Sequence[Run]) -> list[str]:
    """The commits that runs are from, shortened."""
    return sorted({str(run.record.environment.get("commit"))[:9] for run in runs})
