"""The summary that is printed when a run has ended."""

from __future__ import annotations

from collections.abc import Sequence

from elmo_bench.commands import spell_run
from elmo_bench.conditions import describe_condition, is_baseline
from elmo_bench.records import RUN_RECORD, Record
from elmo_bench.report.convergence import MARK, met_cap
from elmo_bench.runs.outcome import Outcome
from elmo_bench.types import Scores


def print_outcome(outcome: Outcome, typed: Sequence[str]) -> None:
    """Score, layer weights, path of the record, and a suggested next command.

    `typed` are the overrides of a single run; a job of a sweep has none and gets no suggestion.
    """
    record = outcome.record
    where = f"{record.task} on {record.corpus} ({record.source})"
    title = f"{where}, {describe_condition(record)}, seed {record.seed}"
    if outcome.status == "already done":
        print(f"already done: {title}")
    else:
        print(f"\n{title}")
    for split, scores in record.scores.items():
        print(f"  {split:4}  {describe_scores(record.metric, scores, record.examples[split])}")
    if met_cap(record):
        print(f"  {MARK}: training met its cap on epochs; task.training.epochs=N raises it")
    for point, learnt in record.learnt.items():
        weights = " ".join(f"{weight:.3f}" for weight in learnt["weights"])
        print(f"  ELMo at {point}: layer weights {weights}, gamma {learnt['gamma']:.3f}")
    print(f"  record: {outcome.directory / RUN_RECORD}")
    if outcome.status == "done" and typed:
        print(f"  next:   {suggest(record, typed)}")


def describe_scores(metric: str, scores: Scores, examples: int) -> str:
    """The main metric, then the other metrics of the whole split, if there are any."""
    others = "  ".join(f"{n} {v:.2f}" for n, v in scores.items() if n != metric and ":" not in n)
    return f"{metric} {scores[metric]:.2f}  n={examples:,}{f'  ({others})' if others else ''}"


def suggest(record: Record, overrides: Sequence[str]) -> str:
    """A suggested next command: the same run with or without ELMo."""
    kept = [word for word in overrides if word.lstrip("+~").partition("=")[0].split(".")[0] != "elmo"]
    kept = [word for word in kept if not word.startswith("force=")]
    added, title = ((), "the same with ELMo") if is_baseline(record) else (("elmo=none",), "the baseline")
    return f"{spell_run([*kept, *added])}   ({title})"
