"""Select the examples of a split that a run uses: all, a nested seeded fraction, or the first few."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from elmo_bench.config import DataConfig
from elmo_bench.runs.kept_examples import SplitReading, read_split_once
from elmo_bench.sources import Corpus
from elmo_bench.task import AnyTask, Example
from elmo_bench.types import DataError, SplitFiles, UsageError


@dataclass(frozen=True)
class Reading:
    """The examples of every split, and counts of what its files contain in addition."""

    examples: dict[str, list[Example]]
    left_out: dict[str, dict[str, int]]  # by split, if there is any


_kept: list[tuple[Any, Reading]] = []  # one at most


def read_examples(task: AnyTask, corpus: Corpus) -> dict[str, list[Example]]:
    """The examples of every split."""
    return read_corpus(task, corpus).examples


def read_corpus(task: AnyTask, corpus: Corpus) -> Reading:
    """The examples of every split, checked to exist and to have unique ids.

    The last corpus is kept, so the runs of a sweep in one process read it once. Nothing changes an example.
    """
    key = (task, corpus.files, corpus.fingerprints())
    if not _kept or _kept[0][0] != key:
        _kept.clear()  # before the next is read: both at once would need twice the memory
        _kept.append((key, _read_splits(task, corpus)))
    return _kept[0][1]


def _read_splits(task: AnyTask, corpus: Corpus) -> Reading:
    splits = {
        split: read_split_once(task, files, corpus.cache, partial(_read_split, task, files))
        for split, files in corpus.files.items()
    }
    return Reading(
        {split: reading.examples for split, reading in splits.items()},
        {split: reading.left_out for split, reading in splits.items() if reading.left_out},
    )


def _read_split(task: AnyTask, files: SplitFiles) -> SplitReading:
    left_out: Counter[str] = Counter()

    def leave_out(what: str, count: int) -> None:
        left_out[what] += count

    rows: list[Example] = list(task.read(replace(files, leave_out=leave_out)))
    if not rows:
        raise DataError(
            f"{files.paths[0]}: expected at least one example for the {files.split} split, got none"
        )
    twice = [name for name, count in Counter(row.id for row in rows).items() if count > 1]
    if twice:
        raise DataError(f"{files.paths[0]}: expected a different id per example, got {twice[0]!r} twice")
    return SplitReading(rows, dict(+left_out))


def choose_examples(
    split: str, examples: Sequence[Example], data: DataConfig, limit: int | None
) -> list[Example]:
    """The subset of a split that the run's limits leave."""
    chosen = list(examples)
    if split == "train":
        wanted = math.ceil(data.fraction * len(chosen))
        chosen = nested_part(chosen, min(wanted, data.limit or wanted))
        require_enough(len(chosen), len(examples), data)
    return chosen[:limit] if limit else chosen


def require_enough(chosen: int, whole: int, data: DataConfig) -> None:
    """Refuse a training set so small that its score would say nothing."""
    if chosen < data.least:
        parts = [f"data.fraction={data.fraction:g}", *([f"data.limit={data.limit}"] if data.limit else [])]
        raise UsageError(
            f"{' '.join(parts)}: expected at least {data.least:,} training examples (data.least), got "
            f"{chosen:,} of {whole:,}; take a larger part, or a smaller data.least"
        )


def nested_part(examples: Sequence[Example], count: int) -> list[Example]:
    """A random subset in file order; every smaller subset is contained in every larger one."""
    ranked = sorted(examples, key=lambda example: hashlib.sha256(example.id.encode()).digest())
    kept = {example.id for example in ranked[:count]}
    return [example for example in examples if example.id in kept]
