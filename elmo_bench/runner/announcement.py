"""What a person reads when a run has ended."""

from __future__ import annotations

from elmo_bench.records import Record
from elmo_bench.report.conditions import describe_condition, is_baseline
from elmo_bench.runner.job import Outcome


def announce(outcome: Outcome) -> None:
    """Score, layer weights, where the record is, what to do next."""
    record = outcome.record
    where = f"{record.task} on {record.corpus} ({record.source})"
    title = f"{where}, {describe_condition(record)}, seed {record.seed}"
    if outcome.status == "already done":
        print(f"already done: {title}")
    else:
        print(f"\n{title}")
    for split, scores in record.scores.items():
        others = "  ".join(f"{n} {v:.2f}" for n, v in scores.items() if n != record.metric and ":" not in n)
        score = f"{record.metric} {scores[record.metric]:.2f}"
        print(f"  {split:4}  {score}  n={record.examples[split]:,}  ({others})")
    for place, learnt in record.learnt.items():
        weights = " ".join(f"{weight:.3f}" for weight in learnt["weights"])
        print(f"  ELMo at {place}: layer weights {weights}, gamma {learnt['gamma']:.3f}")
    print(f"  record: {outcome.directory / 'result.json'}")
    if outcome.status == "done":
        print(f"  next:   {suggest(record)}")


def suggest(record: Record) -> str:
    """The command a person is likely to want now."""
    if is_baseline(record):
        return f"python run.py task={record.task} data={record.source}   (the same with ELMo)"
    return f"python run.py task={record.task} data={record.source} elmo=none   (the baseline)"
