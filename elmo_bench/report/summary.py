"""The runs of a sweep as one small table: mean and spread over seeds, and the gain over the baseline."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import mean, stdev
from typing import Any

from elmo_bench.conditions import describe_condition, flatten, name_encoders
from elmo_bench.records import Record
from elmo_bench.report.baseline import baseline_of, describe_share, has_words, rate_of, share_of
from elmo_bench.report.cells import LEGEND, spell_main, spell_unpaired
from elmo_bench.report.comparison import Pairs, Referee, Run, Seeds, differences_of, pair_seeds
from elmo_bench.report.convergence import Speed, speed_of, spell_capped
from elmo_bench.report.differences import distinguish

WITH_INTERVAL = re.compile(r"  gain +[+-][\d.]+ \[")


def summarise(runs: Sequence[Run], referee: Referee) -> str:
    """One line per condition, task by task, in the order of falling test score."""
    tables = []

    def place(run: Run) -> tuple[str, str, str, str]:
        return run.record.task, run.record.source, run.record.corpus, run.record.size

    for key, found in groupby(sorted(runs, key=place), key=place):
        task, source, corpus, size = key
        group = list(found)
        shortened = ", a trial on a few examples" if any(run.record.debug for run in group) else ""
        tables.append(f"{task} on {corpus} ({source}, size {size}{shortened})\n" + _table(group, referee))
    if any(map(WITH_INTERVAL.search, tables)):
        tables.append(LEGEND)
    return "\n\n".join(tables)


def _table(runs: list[Run], referee: Referee) -> str:
    conditions: dict[str, dict[int, Run]] = defaultdict(dict)
    for run in runs:
        conditions[run.record.condition][run.seed] = run
    table = list(conditions.values())
    records = [run.record for run in runs]
    encoders = name_encoders(records)
    names = [
        describe_condition(_any(seeds), encoders) + describe_peculiarities(_any(seeds), records)
        for seeds in table
    ]
    names = distinguish(names, [_any(seeds) for seeds in table])
    width = max(52, *map(len, names))
    rows = [
        _row(f"  {name:{width}}", seeds, conditions.get(baseline_of(_any(seeds), records) or "", {}), referee)
        for name, seeds in zip(names, table, strict=True)
    ]
    rows.sort(key=lambda row: -row[0])
    return "\n".join(line for _, line in rows)


def _any(seeds: Seeds) -> Record:
    """The record of a run of a condition, for what all of them share."""
    return next(iter(seeds.values())).record


def describe_peculiarities(record: Record, table: Sequence[Record]) -> str:
    """What else sets a condition apart, where the runs of its table differ in it."""
    said = ""
    if len({share_of(other) for other in table}) > 1:
        said += "".join(f", {share}" for share in describe_share(record))
    if not has_words(record) and any(map(has_words, table)):
        said += ", no words"
    if len({rate_of(other) for other in table}) > 1:
        said += f", rate {rate_of(record)}"
    others = [_settings(other) for other in table]
    for key, value in _settings(record).items():
        if any(other.get(key) != value for other in others):  # absent is the value of older records
            said += f", {key}={value}"
    return said


def _settings(record: Record) -> dict[str, Any]:
    """The settings of a run's task."""
    return dict(flatten(record.identity["task"].get("settings", {})))


def _row(name: str, seeds: Seeds, baseline: Seeds, referee: Referee) -> tuple[float, str]:
    """The mean test score, to sort by, and the line."""
    metric = _any(seeds).metric
    own = [run.record for run in seeds.values()]
    pairs = pair_seeds(baseline, seeds)
    records = [*own, *(before.record for before, _ in pairs)]
    # Runs that chose settings have no test scores (evaluate.splits=dev): they are compared by dev.
    split = "test" if all("test" in record.scores for record in records) else "dev"
    scores = [record.scores[split][metric] for record in own]
    spread = f" ± {stdev(scores):5.2f}" if len(scores) > 1 else " " * 8
    cells = [
        name,
        *([f"dev {mean(record.scores['dev'][metric] for record in own):6.2f}"] if split == "test" else []),
        f"{split} {mean(scores):6.2f}{spread}",
        f"n={len(scores)}",
    ]
    if pairs:
        cells += _gain(pairs, seeds, split, metric, referee)
    if mark := spell_capped(records):
        cells.append(mark)
    return mean(scores), "  ".join(cells)


def _gain(pairs: Pairs, seeds: Seeds, split: str, metric: str, referee: Referee) -> Iterator[str]:
    """The gain over the baseline with the interval of its main test, and the speed of learning."""
    main = referee.judge(pairs, split, metric)
    said = [*([spell_main(main)] if main else []), *spell_unpaired(len(pairs), seeds)]
    yield " ".join([f"gain {mean(differences_of(pairs, split, metric)):+6.2f}", *said])
    if speed := speed_of((before.record, after.record) for before, after in pairs):
        yield spell_speed(speed)


def spell_speed(speed: Speed) -> str:
    """When the baseline's best dev score was passed, and when the baseline had it."""
    passed = [] if speed.passed is None else [f"at update {speed.passed:,.0f}"]
    never = [f"never in {speed.never} of {speed.count}"] if speed.never else []
    return f"passes {', '.join([*passed, *never])} (baseline's best: {speed.baseline:,.0f})"
