"""Runs from Python, for notebooks and scripts: execute them, read them, compare them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from elmo_bench.directories import add_directories
from elmo_bench.extras import import_extra
from elmo_bench.report.comparison import Comparison, Referee, Run
from elmo_bench.report.pairs import choose_metric, find_runs, gather, pair_up, read_run
from elmo_bench.report.published import read_published
from elmo_bench.report.rows import rows_of
from elmo_bench.report.statistics import LEAST_RESAMPLES, RESAMPLES
from elmo_bench.runs.scores import find_scores
from elmo_bench.sweep.compose import compose
from elmo_bench.sweep.multirun import wait_for
from elmo_bench.sweep.runs import KIND
from elmo_bench.types import BusyError, DamagedFileError, DataMissingError, UsageError

if TYPE_CHECKING:
    import pandas

RUNS, RECORDS = "runs", "records"  # below the directory of the results
Named = str | Path | Run | Sequence[Run]


@dataclass(frozen=True)
class Results(Sequence[Run]):
    """Finished runs; `problems` names every file that is not among them, with the reason."""

    runs: tuple[Run, ...]
    problems: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.runs)

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Run, ...]: ...
    def __getitem__(self, place: int | slice) -> Run | tuple[Run, ...]:
        return self.runs[place]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def where(self, **wanted: Any) -> Results:
        """The runs whose row has these values: `results.where(task="ner", encoder=None)`."""
        rows = rows_of(run.record for run in self.runs)
        if unknown := [key for row in rows[:1] for key in wanted if key not in row]:
            raise UsageError(f"{unknown[0]}: expected a column, one of {', '.join(rows[0])}")
        kept = [
            run
            for run, row in zip(self.runs, rows, strict=True)
            if all(row[key] == value for key, value in wanted.items())
        ]
        return Results(tuple(kept), self.problems)

    def to_dataframe(self) -> pandas.DataFrame:
        """One row per run: its condition, seed, scores, whether it converged, and the code that made it."""
        frame: pandas.DataFrame = import_extra("pandas", "to_dataframe").DataFrame(
            rows_of(run.record for run in self.runs)
        )
        return frame


def load_results(directory: str | Path = "results") -> Results:
    """The published records and the finished runs below a directory of results; each run once.

    >>> load_results("results").where(task="ner", source="open").to_dataframe()
    """
    place = Path(directory)
    if not any((place / name).is_dir() for name in (RECORDS, RUNS)):
        raise DataMissingError(f"{place}: expected a directory with {RECORDS}/ or {RUNS}/")
    published = read_published(place / RECORDS)
    runs = {run.key: run for run in published.runs}
    problems = list(published.problems)
    for file in find_runs(place / RUNS):
        try:
            run = read_run(file)
        except DamagedFileError as error:
            problems.append(str(error))
        else:
            runs.setdefault(run.key, run)
    return Results(tuple(runs.values()), tuple(problems))


def run(*overrides: str, config_dir: str | Path | Sequence[str | Path] = ()) -> Run:
    """Execute one run, as `python run.py` does with the same words; a finished one is only read.

    >>> baseline = run("task=ner", "elmo=none")
    >>> baseline.record.scores["test"]["f1"]

    An interrupted run resumes. Every error is a `BenchError` that says what to do.
    """
    if strange := [word for word in overrides if not isinstance(word, str)]:
        raise UsageError(
            f'expected words as strings, such as run("task=ner", "seed=2"), got {strange[0]!r}; '
            "the words of a list are given as run(*words)"
        )
    add_directories(config_dir)
    command = KIND.read(compose(overrides, KIND.primary))
    if command.plan:
        raise UsageError("plan=true: expected a run; the command line prints plans")
    while True:
        try:
            return read_run(KIND.run(command, list(overrides)))
        except BusyError:  # another process executes it
            wait_for(KIND.locate(command))


def compare(
    first: Named, second: Named, *, split: str = "test", metric: str | None = None, resamples: int = RESAMPLES
) -> Comparison:
    """What the second condition gains over the first, with its interval and tests.

    Each side is a run, the runs of one condition, or a path as `python -m elmo_bench compare` takes it.

    >>> compare(baseline, run("task=ner")).main
    """
    if not isinstance(resamples, int) or resamples < LEAST_RESAMPLES:
        raise UsageError(f"resamples={resamples!r}: expected a whole number, at least {LEAST_RESAMPLES}")
    pairs = pair_up(_by_seed(first), _by_seed(second), split)
    chosen = choose_metric(pairs, split, metric)
    scores, problems = find_scores([pairs[0][0].record])
    found = Referee(scores, resamples, problems=problems).compare_pairs(pairs, split, chosen)
    assert found is not None  # there is at least one pair
    return found


def _by_seed(named: Named) -> dict[int, Run]:
    """The runs of one side by seed."""
    if isinstance(named, str | Path):
        return gather(Path(named))
    runs = [named] if isinstance(named, Run) else list(named)
    if len(conditions := {run.record.condition for run in runs}) != 1:
        raise UsageError(f"expected the runs of one condition on each side, got {len(conditions)} conditions")
    return {run.seed: run for run in runs}
