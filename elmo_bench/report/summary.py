"""The runs of a sweep as one small table: mean and spread over seeds, and the gain over the baseline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from statistics import mean, stdev

from elmo_bench.conditions import describe_condition, name_encoders
from elmo_bench.records import Record
from elmo_bench.report.baseline import baseline_of, rate_of
from elmo_bench.report.convergence import Speed, speed_of, spell_capped
from elmo_bench.report.statistics import paired_gain


def summarise(records: Sequence[Record]) -> str:
    """One line per condition, task by task, in the order of falling test score."""
    tables = []

    def place(record: Record) -> tuple[str, str, str, str]:
        return record.task, record.source, record.corpus, record.size

    for key, group in groupby(sorted(records, key=place), key=place):
        task, source, corpus, size = key
        runs = list(group)
        shortened = ", shortened by debug=fast" if any(run.debug for run in runs) else ""
        tables.append(f"{task} on {corpus} ({source}, size {size}{shortened})\n" + _table(runs))
    return "\n\n".join(tables)


def _table(records: list[Record]) -> str:
    conditions: dict[str, dict[int, Record]] = defaultdict(dict)
    for record in records:
        conditions[record.condition][record.seed] = record
    table = list(conditions.values())
    encoders = name_encoders(records)
    names = [
        describe_condition(_any(seeds), encoders) + _peculiarities(_any(seeds), records) for seeds in table
    ]
    width = max(52, *map(len, names))
    rows = [
        _row(f"  {name:{width}}", seeds, conditions.get(baseline_of(_any(seeds), records) or "", {}))
        for name, seeds in zip(names, table, strict=True)
    ]
    rows.sort(key=lambda row: -row[0])
    return "\n".join(line for _, line in rows)


def _any(seeds: dict[int, Record]) -> Record:
    """A run of a condition, for what all of them share."""
    return next(iter(seeds.values()))


def _peculiarities(record: Record, table: Sequence[Record]) -> str:
    """What else sets a condition apart, where the runs of its table differ in it."""
    said, fraction = "", record.identity["data"]["fraction"]
    if fraction < max(other.identity["data"]["fraction"] for other in table):
        said += f", {100 * fraction:g} % of the training data"
    if not _has_words(record) and any(map(_has_words, table)):
        said += ", no words"
    if len({rate_of(other) for other in table}) > 1:
        said += f", rate {rate_of(record)}"
    return said


def _has_words(record: Record) -> bool:
    return bool(record.identity["words"]["kind"] != "none")


def _row(name: str, seeds: dict[int, Record], baseline: dict[int, Record]) -> tuple[float, str]:
    """The mean test score, to sort by, and the line."""
    metric = _any(seeds).metric
    # Runs that chose settings have no test scores (evaluate.splits=dev): they are compared by dev.
    split = (
        "test" if all("test" in record.scores for record in (*seeds.values(), *baseline.values())) else "dev"
    )
    scores = {seed: record.scores[split][metric] for seed, record in seeds.items()}
    centre = mean(scores.values())
    cells = [
        name,
        *([f"dev {mean(r.scores['dev'][metric] for r in seeds.values()):6.2f}"] if split == "test" else []),
        f"{split} {centre:6.2f} ± {stdev(scores.values()):5.2f}"
        if len(scores) > 1
        else f"{split} {centre:6.2f}" + " " * 8,
        f"n={len(scores)}",
    ]
    if baseline:
        both = [score - baseline[s].scores[split][metric] for s, score in scores.items() if s in baseline]
        if gain := paired_gain(both):
            cells.append(f"gain {gain.mean:+6.2f} [{gain.low:+.2f}, {gain.high:+.2f}]")
        elif both:
            cells.append(f"gain {mean(both):+6.2f}")
        if speed := speed_of((baseline[s], seeds[s]) for s in seeds if s in baseline):
            cells.append(spell_speed(speed))
    if mark := spell_capped([*seeds.values(), *baseline.values()]):
        cells.append(mark)
    return centre, "  ".join(cells)


def spell_speed(speed: Speed) -> str:
    """When the baseline's best dev score was passed, and when the baseline had it."""
    passed = [] if speed.passed is None else [f"at update {speed.passed:,.0f}"]
    never = [f"never in {speed.never} of {speed.count}"] if speed.never else []
    return f"passes {', '.join([*passed, *never])} (baseline's best: {speed.baseline:,.0f})"
