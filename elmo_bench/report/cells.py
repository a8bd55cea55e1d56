"""Numbers as a table prints them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from elmo_bench.records import Record
from elmo_bench.report.comparison import Comparison, MainTest, Pairs, Run, Seeds
from elmo_bench.report.convergence import MARK, speed_of, spell_capped
from elmo_bench.report.inference import SEEDS_NEEDED, adjust_holm
from elmo_bench.report.inputs import ShownTask
from elmo_bench.report.model import Cell
from elmo_bench.report.statistics import Spread, spread

NOTHING = Cell(("–",), "nothing")
NO_RUN = Cell(("no run",), "missing")
TESTS, PASSES = "p", "Updates to pass"  # columns: the tests, and the speed of learning
EXAMPLES_ALONE = "(examples)"
LEGEND = (
    "[low, high]: 95 % interval of the gain, by a bootstrap over seeds and test examples; "
    f"{EXAMPLES_ALONE}: over test examples alone, with fewer than {SEEDS_NEEDED} seeds or runs without "
    "chance"
)
Row = tuple[Cell, ...]


def text(*lines: str) -> Cell:
    """A cell of words."""
    return Cell(tuple(lines))


def task_cell(task: ShownTask, corpus: str = "") -> Cell:
    """The heading of a task's rows, with the corpus where a table has several."""
    return Cell(tuple(filter(None, [task.title, corpus])), task=task.title)


def encoder_cell(name: str) -> Cell:
    """The heading of an encoder's row."""
    return Cell((name,), encoder=name)


def name_runs(runs: Iterable[Run]) -> tuple[str, ...]:
    """What a cell calls the runs that it shows."""
    return tuple(f"{run.record.condition}-s{run.seed}" for run in runs)


def name_pairs(pairs: Pairs) -> tuple[str, ...]:
    """What a cell calls the runs that a gain compares: those of the baseline last."""
    return name_runs([*(after for _, after in pairs), *(before for before, _ in pairs)])


def paper_cell(entry: Any) -> Cell:
    """What the paper prints: a number, or the exact match and F1 of one system."""
    parts = {label: entry[label] for label in ("EM", "F1") if label in entry} or {"": entry}
    lines = []
    for label, part in parts.items():
        deviation = f" ± {part['std']:g}" if "std" in part else ""
        number = "–" if part["value"] is None else f"{part['value']}{deviation}"
        lines.append(f"{label} {number}".strip())
    if "system" in entry:
        lines.append(entry["system"])
    verified = all(part["verified"] for part in parts.values())
    if not verified:
        lines.append("unverified")
    value = next(reversed(parts.values()))["value"]
    return Cell(tuple(lines), "paper" if verified else "unverified", value)


def paper_gain(entry: Any, baseline: Any) -> Cell:
    """The difference of two of the paper's numbers, and what part of the error it takes away."""
    entry, baseline = (one.get("F1", one) for one in (entry, baseline))
    gain = entry["value"] - baseline["value"]
    verified = entry["verified"] and baseline["verified"]
    reduction = percent(100 * gain / (100 - baseline["value"]))
    return Cell((f"{gain:+.1f}", reduction), "paper" if verified else "unverified", round(gain, 6))


def printed_gain(entry: Any) -> Cell:
    """A difference that the paper prints, or the increase of its Table 1: absolute, and of the error."""
    if "value" in entry:
        return Cell((f"{entry['value']:+}",), "paper" if entry["verified"] else "unverified", entry["value"])
    gain, reduction = entry["increase_absolute"], entry["increase_relative_error_pct"]
    verified = gain["verified"] and reduction["verified"]
    lines = (f"{gain['value']:+}", f"{reduction['value']} % less error")
    return Cell(lines, "paper" if verified else "unverified", gain["value"])


def score_cell(runs: Sequence[Run], split: str, statistics: Mapping[str, str] | None = None) -> Cell:
    """Mean and standard deviation over n seeds of the metric, or of several scores by label."""
    records = [run.record for run in runs]
    metric = records[0].metric
    known = records[0].scores[split]
    chosen = {label: name for label, name in (statistics or {}).items() if name in known} or {"": metric}
    lines = []
    for label, name in chosen.items():
        found = spread([record.scores[split][name] for record in records])
        lines.append(f"{label} {spell_spread(found)}".strip())
    found = spread([record.scores[split][metric] for record in records])
    return measured_cell(found, runs, (*lines, f"n = {found.count}"))


def measured_cell(found: Spread, runs: Sequence[Run], lines: tuple[str, ...]) -> Cell:
    """A number measured in several runs, with a mark if any of them met its cap."""
    marks = marks_of(run.record for run in runs)
    return Cell(lines, "score", found.mean, found.deviation, found.count, marks, name_runs(runs))


def marks_of(records: Iterable[Record]) -> tuple[str, ...]:
    """The mark of a number in which some runs have not converged."""
    capped = spell_capped(records)
    return (capped,) if capped else ()


def spell_spread(found: Spread) -> str:
    """A mean, and the standard deviation if there is one."""
    deviation = "" if found.deviation is None else f" ± {found.deviation:.2f}"
    return f"{found.mean:.2f}{deviation}"


def gain_cell(found: Comparison, after: Seeds) -> Cell:
    """The gain, and the part of the baseline's error that it takes away."""
    reduction = [] if found.error_reduction is None else [percent(found.error_reduction)]
    marks = (MARK,) if found.capped else ()
    lines = (f"{found.gain:+.2f}", *reduction, *spell_unpaired(len(found.seeds), after))
    return Cell(lines, "score", found.gain, marks=marks)


def spell_unpaired(paired: int, after: Seeds) -> list[str]:
    """How many seeds a gain is over, where the baseline lacks some of its row's."""
    return [f"over {paired} of {len(after)} seeds"] if paired < len(after) else []


def interval_cell(found: Comparison) -> Cell:
    """The 95 % interval of the main test, and those over seeds and over test examples alone."""
    lines = []
    if found.main and found.main.basis == "seeds and examples":
        lines.append(spell_interval(found.main.low, found.main.high))
    if found.over_seeds:
        lines.append(f"seeds {spell_interval(found.over_seeds.low, found.over_seeds.high)}")
    if found.over_examples:
        lines.append(f"examples {spell_interval(found.over_examples.low, found.over_examples.high)}")
    if not found.over_seeds and not found.one_pass:
        lines.append(f"over seeds none: {SEEDS_NEEDED} are needed")
    return Cell(tuple(lines), "detail") if lines else NOTHING


def test_cell(found: Comparison) -> Cell:
    """The p of the main test, which `adjust_tests` adjusts, and those of the other tests there are."""
    main = f"p {spell_p(found.main.p)}" if found.main else None
    others = {
        "bootstrap": found.over_examples.p if found.over_examples else None,
        "sign-flip": found.sign_flip,
        "McNemar": found.mcnemar,
    }
    lines = [
        *([main] if main else []),
        *(f"{name} {spell_p(p)}" for name, p in others.items() if p is not None),
    ]
    return Cell(tuple(lines), "detail", found.main.p if found.main else None) if lines else NOTHING


def adjust_tests(columns: Sequence[str], rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows of a table, each p with what it is when adjusted for their number (Holm)."""
    place = columns.index(TESTS)
    p_values = {number: p for number, row in enumerate(rows) if (p := row[place].value) is not None}
    adjusted = dict(zip(p_values, adjust_holm(list(p_values.values())), strict=True))
    return tuple(
        (*row[:place], _with_adjusted(row[place], adjusted[number]), *row[place + 1 :])
        if number in adjusted
        else row
        for number, row in enumerate(rows)
    )


def _with_adjusted(cell: Cell, p: float) -> Cell:
    first, *others = cell.lines
    return replace(cell, lines=(first, f"adjusted {spell_p(p)}", *others))


def speed_cell(pairs: Pairs) -> Cell:
    """The updates after which runs passed the best dev score of their baselines."""
    found = speed_of((before.record, after.record) for before, after in pairs)
    if found is None:
        return NOTHING
    lines = [] if found.passed is None else [f"{found.passed:,.0f}"]
    if found.never:
        lines.append(f"never in {found.never} of {found.count}")
    lines.append(f"baseline's best: {found.baseline:,.0f}")
    if not found.counted:
        lines.append("estimated from epochs")
    return Cell(
        tuple(lines), "score", found.passed, marks=marks_of(run.record for pair in pairs for run in pair)
    )


def spell_interval(low: float, high: float) -> str:
    """An interval with the signs of both ends."""
    return f"[{low:+.2f}, {high:+.2f}]"


def spell_main(main: MainTest, digits: int = 2) -> str:
    """The interval of the main test, with a word where it is over test examples alone."""
    interval = f"[{main.low:+.{digits}f}, {main.high:+.{digits}f}]"
    return interval if main.basis == "seeds and examples" else f"{interval} {EXAMPLES_ALONE}"


def spell_p(p: float) -> str:
    """Three decimals; what is smaller is only called small."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def percent(value: float) -> str:
    """A change of the error in percent: less for a gain, more for a loss."""
    return f"{abs(value):.1f} % {'less' if value >= 0 else 'more'} error"
