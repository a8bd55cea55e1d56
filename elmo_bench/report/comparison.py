"""Two conditions of one task, paired by seed and by test example."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import numpy as np

from elmo_bench.config import Basis
from elmo_bench.files import read_kept, write_kept
from elmo_bench.hashing import hash_file, hash_value
from elmo_bench.records import COUNTS, CountTable, Record, read_counts
from elmo_bench.report.convergence import is_one_pass, met_cap
from elmo_bench.report.inference import Estimate, example_bootstrap, two_level_bootstrap
from elmo_bench.report.statistics import (
    RESAMPLES,
    Bootstrap,
    Gain,
    McNemar,
    Score,
    combine,
    compare_answers,
    error_reduction,
    flip_signs,
    paired_bootstrap,
    paired_gain,
    resample_scores,
    right_answers,
)
from elmo_bench.types import DamagedFileError, DataMissingError

DRAWING = 1
"""Raised whenever the same counts would be drawn from in another way than before."""


@dataclass(frozen=True)
class Run:
    """A record and where its counts lie."""

    record: Record
    counts: Path
    is_sealed: bool = True  # older records are not
    predictions: Path | None = None  # of the test set, where they are at hand

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.record.seed

    @property
    def key(self) -> tuple[str, str, int]:
        """What is the same for two records of one run."""
        return self.record.task, self.record.condition, self.record.seed


Seeds = Mapping[int, Run]
"""The runs of one condition by seed."""

Pairs = Sequence[tuple[Run, Run]]
"""Runs of two conditions that are compared with each other."""

Drawn = tuple[list[np.ndarray], list[np.ndarray]]
"""The scores of both sides on drawn test sets, one array for each pair."""


@dataclass(frozen=True)
class MainTest:
    """The 95 % interval that a gain is judged by, what it is drawn over, and its two-sided p."""

    low: float
    high: float
    p: float
    basis: Basis


@dataclass(frozen=True)
class Comparison:
    """What a second condition gains over a first; tests that cannot be made are absent."""

    seeds: tuple[int, ...]
    differences: tuple[float, ...]
    gain: float
    main: MainTest | None
    over_seeds: Gain | None
    sign_flip: float | None
    over_examples: Bootstrap | None
    answers: tuple[McNemar, ...]  # one per seed where single answers are right or wrong
    error_reduction: float | None
    capped: int  # runs of either side that met their cap
    one_pass: bool = False  # both sides are fitted without chance: seeds change nothing

    @property
    def mcnemar(self) -> float | None:
        """The p of McNemar's test over all seeds; none where answers are not right or wrong."""
        return combine([test.p for test in self.answers]) if self.answers else None


@dataclass
class Referee:
    """Compares runs; what it has resampled once it remembers, and keeps in a cache where it has one."""

    scores: Mapping[str, Score]  # by task; a task without one has no tests over examples
    resamples: int = RESAMPLES
    cache: Path | None = None  # a directory of drawn scores, which make loading a task unnecessary
    drawn: dict[tuple[Path, str, str], np.ndarray] = field(default_factory=dict)
    read: dict[Path, dict[str, CountTable]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def compare(self, first: Seeds, second: Seeds, split: str, metric: str) -> Comparison | None:
        """The gain of the second over the first, over the seeds that both have."""
        return self.compare_pairs(pair_seeds(first, second), split, metric)

    def compare_pairs(self, pairs: Pairs, split: str, metric: str) -> Comparison | None:
        """The same for pairs that somebody else has made."""
        if not pairs:
            return None
        before = [a.record.scores[split][metric] for a, _ in pairs]
        differences = differences_of(pairs, split, metric)
        gain = mean(differences)
        drawn = self.draw(pairs, split, metric)
        one_pass = without_chance(pairs)  # all seeds are one run: their agreement says nothing
        return Comparison(
            seeds=tuple(a.seed for a, _ in pairs),
            differences=tuple(differences),
            gain=gain,
            main=_main_test(drawn, pairs, differences) if drawn else None,
            over_seeds=None if one_pass else paired_gain(differences),
            sign_flip=None if one_pass else flip_signs(differences),
            over_examples=paired_bootstrap(*drawn, gain) if drawn else None,
            answers=tuple(self._answers(pairs, split, metric)) if drawn else (),
            error_reduction=error_reduction(mean(before), gain),
            capped=sum(met_cap(run.record) for pair in pairs for run in pair),
            one_pass=one_pass,
        )

    def judge(self, pairs: Pairs, split: str, metric: str) -> MainTest | None:
        """The main test of a gain alone; nothing where the runs' counts do not allow it."""
        drawn = self.draw(pairs, split, metric) if pairs else None
        return _main_test(drawn, pairs, differences_of(pairs, split, metric)) if drawn else None

    def estimate(self, pairs: Pairs, split: str, metric: str) -> Estimate | None:
        """The gain over pairs with its distribution; nothing where the runs' counts do not allow it."""
        drawn = self.draw(pairs, split, metric)
        return estimate_gain(drawn, pairs, differences_of(pairs, split, metric)) if drawn else None

    def draw(self, pairs: Pairs, split: str, metric: str) -> Drawn | None:
        """The scores of both sides on the same drawn test sets, pair by pair."""
        if any(not same_examples(a.record, b.record, split) for a, b in pairs):
            return None
        try:
            drawn = [
                [self._resample(run, split, metric) for run in side] for side in zip(*pairs, strict=True)
            ]
        except (DataMissingError, DamagedFileError) as error:
            self.note(str(error))
            return None
        first, second = ([scores for scores in side if scores is not None] for side in drawn)
        return (first, second) if len(first) == len(second) == len(pairs) else None

    def check_unsealed(self, runs: Iterable[Run]) -> None:
        """Note which records from before there were seals have scores that their counts do not make."""
        for run in runs:
            if not run.is_sealed and (score := self.scores.get(run.record.task)):
                try:
                    counts = self.counts(run)
                except (DataMissingError, DamagedFileError) as error:
                    self.note(str(error))
                    continue
                for split in counts:
                    self._has_its_score(run, split, run.record.metric, score)

    def _answers(self, pairs: Pairs, split: str, metric: str) -> Iterator[McNemar]:
        """The test of every pair in which single answers are right or wrong."""
        score = self.scores[pairs[0][0].record.task]
        for pair in pairs:
            first, second = (right_answers(self.counts(run)[split], score, metric) for run in pair)
            if first is not None and second is not None:
                yield compare_answers(first, second)

    def counts(self, run: Run) -> dict[str, CountTable]:
        """The counts of a run, checked against its record."""
        if run.counts not in self.read:
            self._require_counts(run)
            self.read[run.counts] = read_counts(run.counts)
        return self.read[run.counts]

    def _require_counts(self, run: Run) -> None:
        if not run.counts.is_file():
            raise DataMissingError(f"{run.counts}: the record's counts are not there; publish the run again")
        if hash_file(run.counts) != run.record.hashes.get(COUNTS):
            raise DamagedFileError(f"{run.counts}: not the counts of its record; publish the run again")

    def note(self, problem: str) -> None:
        """Keep a problem once."""
        if problem not in self.problems:
            self.problems.append(problem)

    def _resample(self, run: Run, split: str, metric: str) -> np.ndarray | None:
        """The run's score on every drawn test set; nothing where its counts do not make its score.

        Nor for a task that is not installed, even if draws are kept from when it was.
        """
        if run.record.task not in self.scores:
            return None
        key = (run.counts, split, metric)
        if key not in self.drawn:
            self._require_counts(run)
            kept = self._kept(run, split, metric)
            drawn = _read_drawn(kept)
            if drawn is None:
                drawn = self._draw_anew(run, split, metric)
                if drawn is None:
                    return None
                _keep_drawn(kept, drawn)
            self.drawn[key] = drawn
        return self.drawn[key]

    def _draw_anew(self, run: Run, split: str, metric: str) -> np.ndarray | None:
        score, counts = self.scores[run.record.task], self.counts(run)[split]
        if not self._has_its_score(run, split, metric, score):
            return None
        return resample_scores(counts, score, metric, self.resamples)

    def _has_its_score(self, run: Run, split: str, metric: str, score: Score) -> bool:
        """Whether the counts of a run make its score; what is wrong is noted."""
        counts = self.counts(run)[split]
        if len(counts) != run.record.examples[split]:
            self.note(f"{run.counts}: not one row for each example of its record; no tests from it")
            return False
        if not makes_score(score, counts, run.record.scores[split][metric], metric):
            self.note(f"{run.counts}: its counts do not make the score of its record; no tests from it")
            return False
        return True

    def _kept(self, run: Run, split: str, metric: str) -> Path | None:
        """Where the drawn scores of a run are kept, by all that decides them."""
        if self.cache is None:
            return None
        record = run.record
        parts = [record.hashes[COUNTS], split, metric, self.resamples, DRAWING]
        parts += [record.task, record.task_version, record.scores[split][metric]]
        return self.cache / f"{hash_value(parts)[:32]}.drawn"


def _read_drawn(path: Path | None) -> np.ndarray | None:
    content = None if path is None else read_kept(path)
    return None if content is None else np.load(io.BytesIO(content), allow_pickle=False)


def _keep_drawn(path: Path | None, drawn: np.ndarray) -> None:
    if path is not None:
        file = io.BytesIO()
        np.save(file, drawn, allow_pickle=False)
        write_kept(path, file.getvalue())


def pair_seeds(first: Seeds, second: Seeds) -> list[tuple[Run, Run]]:
    """The runs of the seeds that both have."""
    return [(first[seed], second[seed]) for seed in sorted(first.keys() & second.keys())]


def differences_of(pairs: Pairs, split: str, metric: str) -> list[float]:
    """What the second run of each pair has more than the first."""
    return [b.record.scores[split][metric] - a.record.scores[split][metric] for a, b in pairs]


def without_chance(pairs: Pairs) -> bool:
    """Whether both sides are fitted in one pass, so that seeds change nothing."""
    return all(is_one_pass(run.record) for pair in pairs for run in pair)


def estimate_gain(drawn: Drawn, pairs: Pairs, differences: Sequence[float]) -> Estimate:
    """The main test of a gain: over examples alone where both sides are fitted in one pass without chance."""
    if without_chance(pairs):
        return example_bootstrap(*drawn, differences)
    return two_level_bootstrap(*drawn, differences)


def _main_test(drawn: Drawn, pairs: Pairs, differences: Sequence[float]) -> MainTest:
    found = estimate_gain(drawn, pairs, differences)
    return MainTest(*found.interval(), found.p(), found.basis)


def makes_score(score: Score, counts: CountTable, expected: float, metric: str) -> bool:
    """Whether counts make a score; another version of the task may have counted other things."""
    try:
        return abs(score([counts.total])[metric] - expected) <= 1e-9
    except KeyError:
        return False


def same_examples(first: Record, second: Record, split: str) -> bool:
    """Whether two runs were measured on the same file and the same number of examples of it."""
    key = f"data/{split}"
    return first.hashes.get(key) == second.hashes.get(key) and first.examples[split] == second.examples[split]
