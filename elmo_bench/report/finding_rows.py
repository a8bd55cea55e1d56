"""Judged findings in words: the table that opens the report, and what the command prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from elmo_bench.commands import spell_command
from elmo_bench.config import FamilyConfig
from elmo_bench.report.cells import NOTHING, spell_p, text
from elmo_bench.report.claims import merge_commands
from elmo_bench.report.effects import RATIOS, as_shown
from elmo_bench.report.findings import Judged, judge_findings, list_sources
from elmo_bench.report.formats import escape_markdown
from elmo_bench.report.inputs import ReportInputs
from elmo_bench.report.model import Cell, Place, Section, Table
from elmo_bench.report.verdicts import Verdict

NAME, TITLE = "findings", "Findings"
ABOUT = (
    "The paper's findings as claims (conf/findings), fixed before runs are made unless their file says "
    "otherwise, and what runs say."
)
NOTES = (
    "Holds, contrary: the adjusted p is below 0.05, and the interval excludes every effect against the "
    "claim, or every effect that agrees with it. Undetermined: neither; the smallest effect is named that "
    "these runs would have shown with 80 % power, whatever the other tests of the table say. Not converged: "
    "a run met its cap on epochs, so nothing is concluded.",
    "p: as tested, and adjusted for the tests of the same table of the paper (Holm).",
)
ORDER = list(Verdict)  # of rows: what is decided comes first
COLUMNS = ("Task", "Finding", "Verdict", "Effect", "Interval", "Here", "Paper", "p", "n")


def build_findings(inputs: ReportInputs) -> Section:
    """One table for every source that has runs."""
    published = inputs.published
    tables: list[Table] = []
    for source in list_sources(published):
        judged = judge_findings(inputs.families, published, inputs.referee, inputs.tasks, source)
        tables += _tables(source, judged)
    return Section(NAME, TITLE, ABOUT, tuple(tables))


def _tables(source: str, judged: Sequence[Judged]) -> Iterator[Table]:
    """What runs say of the findings, and the findings that no run says anything of."""
    known = [one for one in judged if one.effect is not None]
    known.sort(key=lambda one: ORDER.index(one.verdict))
    unknown = [one for one in judged if one.effect is None]
    if known:
        yield _table(source, known, count_verdicts(judged))
    if unknown:
        said = f"{len(unknown)} {Verdict.NOT_RUN}"
        yield replace(_table(source, unknown, said), folded=f"{said}, source {source}")


def _table(source: str, shown: Sequence[Judged], said: str) -> Table:
    commands = [command for one in shown for command in one.commands]
    return Table(
        name=NAME,
        block=f"source {source}",
        caption=f"{TITLE} · source {source} · {said}",
        columns=COLUMNS,
        rows=tuple(_row(one) for one in shown),
        notes=NOTES,
        commands=tuple(merge_commands(commands)),
        place=Place(source),
    )


def _row(one: Judged) -> tuple[Cell, ...]:
    where = [one.config.section] if one.config.section else []
    subject = Cell((one.subject,), task=one.subject)
    claim, paper, count = text(one.config.claim, *where), paper_cell(one), text(str(one.seeds))
    lines = (one.verdict, *filter(None, [explain(one)]))
    if one.effect is None:
        verdict = Cell(lines, "missing")
        return (subject, claim, verdict, NOTHING, NOTHING, NOTHING, paper, NOTHING, NOTHING)
    verdict = Cell(lines, "verdict")
    effect, kind = one.effect, one.config.kind
    here = Cell((spell_levels(one), one.setting), "detail", effect.second, count=one.seeds, runs=effect.runs)
    shown = Cell((spell_effect(kind, effect.value),), "score", as_shown(kind, effect.value), runs=effect.runs)
    interval = Cell((bounds,), "detail") if (bounds := spell_bounds(one)) else NOTHING
    tests = Cell(tuple(spell_tests(one)), "detail", one.adjusted_p) if one.p is not None else NOTHING
    return (subject, claim, verdict, shown, interval, here, paper, tests, count)


def paper_cell(one: Judged) -> Cell:
    """What the paper prints of a finding."""
    if not one.paper:
        return NOTHING
    verified = all(entry["verified"] for entry in one.paper.values())
    lines = [spell_paper(one), *([] if verified else ["unverified"])]
    return Cell(tuple(lines), "paper" if verified else "unverified")


def spell_paper(one: Judged) -> str:
    """The paper's numbers of both sides, its gain, or that it states the finding without numbers."""
    paper, unit = one.paper, " epochs" if one.config.kind == "updates" else ""
    if not paper:
        return ""
    if "gain" in paper:
        return f"{paper['gain']['value']:+g}"
    if "stated" in paper:
        return "stated without numbers"
    return " → ".join(f"{paper[side]['value']:g}" for side in ("first", "second") if side in paper) + unit


def spell_levels(one: Judged) -> str:
    """The means of both sides, with their unit unless they are scores, weights or perplexities."""
    assert one.effect is not None
    digits, unit = {"layer_weight": (3, ""), "updates": (0, " updates")}.get(one.config.kind, (2, ""))
    levels = (one.effect.first, one.effect.second)
    return " → ".join(f"{level:,.{digits}f}" for level in levels if level is not None) + unit


def spell_effect(kind: str, value: float) -> str:
    """A difference with its sign, or a ratio."""
    shown = as_shown(kind, value)
    return f"× {shown:.3f}" if kind in RATIOS else f"{shown:+.{3 if kind == 'layer_weight' else 2}f}"


def spell_bounds(one: Judged) -> str:
    """The interval of the test, in the unit of the effect."""
    if one.interval is None:
        return ""
    low, high = (spell_effect(one.config.kind, end) for end in one.interval)
    return f"{one.claimed.level:.0%} [{low}, {high}]"


def spell_tests(one: Judged) -> list[str]:
    """Both p-values."""
    if one.p is None or one.adjusted_p is None:
        return []
    return [f"p {spell_p(one.p)}", f"adjusted {spell_p(one.adjusted_p)}"]


def explain(one: Judged) -> str:
    """What a verdict leaves to ask: why there is no test, or what the runs would have shown."""
    if one.effect is None:
        return ""
    if one.untested:
        return one.untested
    if one.verdict != Verdict.UNDETERMINED or one.detectable is None:
        return ""
    if one.config.direction == "equivalent":
        return f"equivalence would have been shown within ± {one.detectable:.2f}"
    sign = -1 if one.config.direction in ("smaller", "at most") else 1
    seen = spell_effect(one.config.kind, sign * one.detectable)
    from_margin = " from the margin" if one.config.margin else ""
    return f"{seen}{from_margin} would have been shown with 80 % power"


def count_verdicts(judged: Sequence[Judged]) -> str:
    """How many findings there are of each verdict."""
    counts = {verdict: sum(one.verdict == verdict for one in judged) for verdict in Verdict}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)


def describe_findings(
    source: str,
    judged: Sequence[Judged],
    families: Mapping[str, FamilyConfig],
    overrides: Sequence[str] | None = None,
) -> Iterator[str]:
    """The lines that a person reads.

    A source without a run for any finding has one, unless it was asked for; it names the command that does,
    which has the overrides of this one.
    """
    yield f"{source}: {count_verdicts(judged)}"
    if overrides is not None and not any(one.effect for one in judged):
        command = spell_command("findings", ["--source", source, *overrides])
        yield f"{command} lists them, with the commands that make the runs"
        return
    for family, members in groupby(judged, key=lambda one: one.family):
        yield ""
        yield families[family].title
        for one in members:
            yield from _describe_one(one)


def _describe_one(one: Judged) -> Iterator[str]:
    paper = f"; paper {spell_paper(one)}" if one.paper else ""
    yield f"  {one.verdict:13}  {one.subject}: {one.config.claim}{paper}"
    indent = " " * 17
    if one.effect is not None:
        parts = [
            f"{spell_levels(one)}, effect {spell_effect(one.config.kind, one.effect.value)}",
            spell_bounds(one),
            *spell_tests(one),
            f"n = {one.seeds}",
            one.setting,
        ]
        yield indent + ", ".join(filter(None, parts))
    if reason := explain(one):
        yield indent + reason
    for command in one.commands:
        yield indent + str(command)


def write_findings(judged: Sequence[Judged]) -> str:
    """A short Markdown table of the findings that have runs, for a README."""
    lines = [
        "| finding | paper | here | effect | interval | seeds | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    named = Counter((one.subject, one.config.claim) for one in judged if one.effect)
    for one in judged:
        if one.effect is None:
            continue
        setting = f" ({one.setting})" if named[one.subject, one.config.claim] > 1 else ""
        cells = (
            f"{one.subject}: {one.config.claim}{setting}",
            ", ".join(paper_cell(one).printed),
            spell_levels(one),
            spell_effect(one.config.kind, one.effect.value),
            spell_bounds(one),
            str(one.seeds),
            f"**{one.verdict}**",
        )
        lines.append(f"| {' | '.join(escape_markdown(cell) for cell in cells[:-1])} | {cells[-1]} |")
    return "\n".join([*lines, "", f"{count_verdicts(judged)}."])


def findings_as_json(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """All of it, with all digits; effects of updates and perplexity are ratios."""
    return [_as_json(one) for one in judged]


def _as_json(one: Judged) -> dict[str, Any]:
    kind, effect = one.config.kind, one.effect
    interval = None if one.interval is None else [as_shown(kind, end) for end in one.interval]
    return {
        "family": one.family,
        "finding": one.name,
        "claim": one.config.claim,
        "sentence": one.config.sentence,
        "section": one.config.section,
        "source": one.source,
        "task": one.task,
        "subject": one.subject,
        "setting": one.setting,
        "kind": kind,
        "conditions": {"first": one.config.first, "second": one.config.second},
        "split": one.config.split,
        "direction": one.config.direction,
        "margin": one.config.margin,
        "test": one.config.test,
        "paper": {side: entry["value"] for side, entry in one.paper.items()},
        "verdict": str(one.verdict),
        "first": effect.first if effect else None,
        "second": effect.second if effect else None,
        "effect": as_shown(kind, effect.value) if effect else None,
        "interval": interval,
        "level": one.claimed.level,
        "p": one.p,
        "adjusted_p": one.adjusted_p,
        "seeds": list(effect.seeds) if effect else [],
        "detectable": one.detectable,
        "untested": one.untested or None,
        "commands": [str(command) for command in one.commands],
    }
