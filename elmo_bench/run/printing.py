"""What a person reads when a run has ended."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from elmo_bench.conditions import describe_condition, is_baseline
from elmo_bench.records import Record
from elmo_bench.run.execution import Outcome
from elmo_bench.types import Scores


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
        print(f"  {split:4}  {describe_scores(record.metric, scores, record.examples[split])}")
    for place, learnt in record.learnt.items():
        weights = " ".join(f"{weight:.3f}" for weight in learnt["weights"])
        print(f"  ELMo at {place}: layer weights {weights}, gamma {learnt['gamma']:.3f}")
    print(f"  record: {outcome.directory / 'result.json'}")
    overrides = typed_overrides()
    if outcome.status == "done" and overrides:
        print(f"  next:   {suggest(record, overrides)}")


def describe_scores(metric: str, scores: Scores, examples: int) -> str:
    """The figure that counts, then the others of the whole split, if there are any."""
    others = "  ".join(f"{n} {v:.2f}" for n, v in scores.items() if n != metric and ":" not in n)
    return f"{metric} {scores[metric]:.2f}  n={examples:,}{f'  ({others})' if others else ''}"


def typed_overrides() -> Sequence[str]:
    """What the person typed for this one run; nothing in a sweep, which has its partners within itself."""
    if not HydraConfig.initialized() or HydraConfig.get().mode is RunMode.MULTIRUN:
        return ()
    return list(HydraConfig.get().overrides.task)


def suggest(record: Record, overrides: Sequence[str]) -> str:
    """The command a person is likely to want now: the same but for ELMo."""
    kept = [word for word in overrides if word.lstrip("+~").partition("=")[0].split(".")[0] != "elmo"]
    kept = [word for word in kept if not word.startswith("force=")]
    added, title = ((), "the same with ELMo") if is_baseline(record) else (("elmo=none",), "the baseline")
    return f"{shlex.join(['python', 'run.py', *kept, *added])}   ({title})"
