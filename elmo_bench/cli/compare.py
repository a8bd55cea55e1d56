"""`python -m elmo_bench compare`: is one condition better than the other, and how certain is that?"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from math import isfinite, nan
from pathlib import Path
from typing import Any

from elmo_bench.cli.resamples import add_resamples, read_resamples
from elmo_bench.conditions import describe_condition, name_encoders
from elmo_bench.report.cells import spell_interval, spell_p, spell_spread
from elmo_bench.report.comparison import Comparison, Pairs, Referee
from elmo_bench.report.convergence import MARK
from elmo_bench.report.differences import differing
from elmo_bench.report.inference import SEEDS_NEEDED
from elmo_bench.report.pairs import choose_metric, gather, pair_up
from elmo_bench.report.power import describe_power, detectable_gain, deviation_of_gain, seeds_for
from elmo_bench.report.statistics import spread
from elmo_bench.runs.scores import find_scores

HELP = """compare two runs, or all seeds of two conditions, on the same test set

A and B are run directories, record files, directories of one condition's runs, or paths that end with the
beginning of a condition, such as results/records/ner/0123abcd. B's gain over A is tested."""
EXAMPLE = (
    "python -m elmo_bench compare results/runs/ner/0123abcd4567 results/runs/ner/89ab0123cdef\n"
    "  python -m elmo_bench compare results/records/ner/0123abcd4567-s1.json "
    "results/runs/ner/89ab0123cdef-s1 --json"
)
ONE_PASS = "both sides are fitted in one pass without chance, so seeds change nothing"


def configure(parser: argparse.ArgumentParser) -> None:
    """The two sides and what to compare of them."""
    parser.add_argument("first", type=Path, metavar="A", help="the condition that a gain is over")
    parser.add_argument("second", type=Path, metavar="B", help="the condition whose gain is tested")
    parser.add_argument("--split", choices=("test", "dev"), default="test", help="default: %(default)s")
    parser.add_argument("--metric", metavar="NAME", help="a score of the task (default: its main metric)")
    parser.add_argument(
        "--gain",
        type=read_gain,
        metavar="X",
        help="print how many seeds a gain of X points needs (default: the observed gain)",
    )
    add_resamples(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON, all digits")


def read_gain(text: str) -> float:
    """A number of points."""
    try:
        gain = float(text)
    except ValueError:
        gain = nan
    if not (isfinite(gain) and gain > 0):
        raise argparse.ArgumentTypeError(f"expected a finite number of points above 0, got {text}")
    return gain


def run(arguments: argparse.Namespace) -> None:
    """Print per-seed scores, the gain, its intervals and the tests."""
    resamples = read_resamples(arguments)
    pairs = pair_up(gather(arguments.first), gather(arguments.second), arguments.split)
    metric = choose_metric(pairs, arguments.split, arguments.metric)
    scores, problems = find_scores([pairs[0][0].record])
    referee = Referee(scores, resamples, problems=problems)
    found = referee.compare_pairs(pairs, arguments.split, metric)
    assert found is not None  # there is at least one pair
    if arguments.json:
        content = as_json(pairs, found, arguments.split, metric, arguments.gain, referee.problems)
        print(json.dumps(content, indent=1, ensure_ascii=False))
    else:
        print("\n".join(describe(pairs, found, arguments.split, metric, arguments.gain)))
        for problem in referee.problems:
            print(f"warning: {problem}")


def describe(
    pairs: Pairs, found: Comparison, split: str, metric: str, wanted: float | None = None
) -> list[str]:
    """The comparison as text."""
    a, b = pairs[0][0].record, pairs[0][1].record
    names = name_encoders([a, b])
    before, after = ([run.record.scores[split][metric] for run in side] for side in zip(*pairs, strict=True))
    lines = [
        f"{a.task} on {a.corpus} ({a.source}), {split} {metric}, {a.examples[split]} examples",
        f"A  {a.condition}  {describe_condition(a, names)}",
        f"B  {b.condition}  {describe_condition(b, names)}",
        *(f"   differs: {difference}" for difference in differing(a.identity, b.identity)),
        "",
        f"{'seed':>8}  {'A':>7}  {'B':>7}  {'B - A':>7}",
    ]
    for (one, other), mine, theirs, gain in zip(pairs, before, after, found.differences, strict=True):
        seed = str(one.seed) if one.seed == other.seed else f"{one.seed} / {other.seed}"
        lines.append(f"{seed:>8}  {mine:7.2f}  {theirs:7.2f}  {gain:+7.2f}")
    lines += [
        "",
        f"A  {spell_spread(spread(before))}    B  {spell_spread(spread(after))}    n = {len(pairs)}",
    ]
    reduction = "" if found.error_reduction is None else f", {found.error_reduction:.1f} % of A's error"
    lines.append(f"gain {found.gain:+.2f}{reduction}")
    if found.capped:
        cut = f"{found.capped} of {2 * len(pairs)} runs reached their cap on epochs"
        lines.append(f"{MARK}: {cut}; the gain may be a difference in training speed")
    lines += describe_main(found)
    power = f"unknown: {ONE_PASS}"
    if not found.one_pass:
        power = describe_power(*scores_by_pair(pairs, split, metric), len(pairs), wanted)
    return [*lines, f"power          {power}", *describe_tests(found)]


def describe_main(found: Comparison) -> list[str]:
    """The confidence interval and the p-value that decide on the gain."""
    if found.main is None:
        return ["main test      none: it needs the counts of both sides on the same test set"]
    over: str = found.main.basis
    if over == "examples" and not found.one_pass:
        over += f" alone: an interval over seeds needs {SEEDS_NEEDED}"
    interval = spell_interval(found.main.low, found.main.high)
    return [
        f"main test      95 % interval {interval} (bootstrap over {over})",
        f"               p {spell_p(found.main.p)}",
    ]


def scores_by_pair(pairs: Pairs, split: str, metric: str) -> tuple[dict[int, float], dict[int, float]]:
    """The scores of both sides; two single runs are a pair whatever their seeds."""
    first, second = (
        {number: pair[side].record.scores[split][metric] for number, pair in enumerate(pairs)}
        for side in (0, 1)
    )
    return first, second


def describe_tests(found: Comparison) -> list[str]:
    """One line per interval and test; if one cannot be computed, the line gives the reason."""
    lines = []
    if found.over_seeds:
        low, high = found.over_seeds.low, found.over_seeds.high
        lines.append(f"over seeds     95 % interval {spell_interval(low, high)} (Student's t)")
    else:
        reason = f"it needs {SEEDS_NEEDED} seeds, there are {len(found.seeds)}"
        if found.one_pass:
            reason = ONE_PASS
        lines.append(f"over seeds     no interval: {reason}")
    if found.sign_flip is not None:
        lines.append(f"               sign-flip p {spell_p(found.sign_flip)}")
    if found.over_examples:
        low, high = found.over_examples.low, found.over_examples.high
        lines.append(f"over examples  95 % interval {spell_interval(low, high)} (paired bootstrap)")
        lines.append(f"               bootstrap p {spell_p(found.over_examples.p)}")
    for seed, test in zip(found.seeds, found.answers, strict=False):
        right = f"only A right {test.only_first}, only B right {test.only_second}"
        lines.append(f"McNemar        seed {seed}: {right}, p {spell_p(test.p)}")
    return lines


def as_json(
    pairs: Pairs, found: Comparison, split: str, metric: str, wanted: float | None, problems: list[str]
) -> dict[str, Any]:
    """All of it, with all digits."""
    a, b = pairs[0][0].record, pairs[0][1].record
    names = name_encoders([a, b])
    return {
        "task": a.task,
        "split": split,
        "metric": metric,
        "examples": a.examples[split],
        "first": {"condition": a.condition, "description": describe_condition(a, names)},
        "second": {"condition": b.condition, "description": describe_condition(b, names)},
        "differs": list(differing(a.identity, b.identity)),
        "scores": [
            {
                "seeds": [one.seed, other.seed],
                "first": one.record.scores[split][metric],
                "second": other.record.scores[split][metric],
            }
            for one, other in pairs
        ],
        **asdict(found),
        "mcnemar": found.mcnemar,
        "power": power_as_json(pairs, found, split, metric, wanted),
        "warnings": problems,
    }


def power_as_json(
    pairs: Pairs, found: Comparison, split: str, metric: str, wanted: float | None
) -> dict[str, Any] | None:
    """The gain that these seeds can detect, and how many seeds a gain needs; unknown for one pair."""
    deviation = deviation_of_gain(*scores_by_pair(pairs, split, metric))
    if deviation is None or found.one_pass:
        return None
    gain = found.gain if wanted is None else wanted
    return {
        "deviation": deviation,
        "detectable_gain": detectable_gain(deviation, len(pairs)),
        "gain": gain,
        "seeds_for_gain": seeds_for(gain, deviation),
    }
