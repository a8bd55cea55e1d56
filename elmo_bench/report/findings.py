"""What is known of every finding: its effect, its test, and the verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elmo_bench.conditions import choose_encoder
from elmo_bench.config import FamilyConfig, FindingConfig, nearest
from elmo_bench.records import PerplexityRecord
from elmo_bench.report.claims import (
    Archive,
    Command,
    Condition,
    Sides,
    command_for,
    conditions_of,
    paper_number,
    seeds_needed,
)
from elmo_bench.report.comparison import Referee
from elmo_bench.report.effects import MEASURES, Effect, measure_perplexity
from elmo_bench.report.inference import adjust_holm
from elmo_bench.report.inputs import ShownTask
from elmo_bench.report.perplexities import describe_schedule
from elmo_bench.report.published import GENERATED, Published, rank_source
from elmo_bench.report.verdicts import Claimed, Verdict, judge
from elmo_bench.types import UsageError

FRESH = "sentences from fresh states"
"""The reading of a text whose effect is measured; the table of perplexities has the paper's too."""


@dataclass(frozen=True)
class Judged:
    """One finding about one task on one corpus, and all that its verdict is made of."""

    name: str
    family: str
    config: FindingConfig
    source: str
    task: str
    subject: str  # the task's title, or the name of its text
    paper: Mapping[str, Any]  # entries of paper_results.json by side
    setting: str  # corpus, size and encoder; empty where nothing was run
    effect: Effect | None
    commands: tuple[Command, ...]  # that make the runs it lacks
    p: float | None = None
    adjusted_p: float | None = None
    tests: int = 1  # of the family, which the p is adjusted for
    verdict: Verdict = Verdict.NOT_RUN

    @property
    def claimed(self) -> Claimed:
        """Where the effect lies if the claim is true."""
        return Claimed(self.config.direction, self.config.margin)

    @property
    def seeds(self) -> int:
        """The number of seeds that the effect is measured with."""
        return len(self.effect.seeds) if self.effect else 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of its test."""
        if self.effect is None or self.effect.estimate is None or self.untested:
            return None
        return self.effect.estimate.interval(self.claimed.level)

    @property
    def detectable(self) -> float | None:
        """The smallest effect that the runs would have shown with 80 % power, as one test of its family."""
        if self.effect is None or self.effect.estimate is None or self.untested:
            return None
        return self.claimed.detectable(self.effect.estimate, self.tests)

    @property
    def untested(self) -> str:
        """Why the finding's test cannot be made; nothing where it can."""
        if self.effect is None:
            return "no runs of both conditions"
        if not all(self.effect.converged):
            met = self.effect.converged.count(False)
            return f"{met} of {len(self.effect.converged)} runs met their cap on epochs"
        needed = seeds_needed(self.config)
        if self.seeds < needed:
            return f"its test needs {needed} seeds, there are {self.seeds}"
        if self.effect.estimate is None:
            return "its test needs the counts of all runs, on the same test set"
        if self.effect.estimate.basis != self.config.test:
            return f"its test is over {self.config.test}, the runs have one over {self.effect.estimate.basis}"
        return ""


def list_sources(published: Published) -> list[str]:
    """Every source with published runs or perplexities; the generated world comes last."""
    sources = {run.record.source for run in published.runs}
    sources |= {record.finetuned.source for record in published.perplexities}
    return sorted(sources, key=rank_source)


def judge_findings(
    families: Mapping[str, FamilyConfig],
    published: Published,
    referee: Referee,
    tasks: Mapping[str, ShownTask],
    source: str,
) -> list[Judged]:
    """Every finding that is about a source, family by family in the order given."""
    archive = Archive(published)
    judged: list[Judged] = []
    for name, family in families.items():
        if not family.sources or source in family.sources:
            judged += judge_family(list(_measure(name, family, archive, referee, tasks, source)))
    return judged


def judge_family(measured: Sequence[Judged]) -> list[Judged]:
    """The verdicts of one family; its p-values are adjusted for the number of tests that were made."""
    tested = [one for one in measured if not one.untested]
    p_values = [one.claimed.p_of(one.effect.estimate) for one in tested if one.effect and one.effect.estimate]
    pairs = iter(zip(p_values, adjust_holm(p_values), strict=True))
    found = [(None, None) if one.untested else next(pairs) for one in measured]
    counted = [replace(one, tests=max(len(tested), 1)) for one in measured]
    return [_judge_one(one, *pair) for one, pair in zip(counted, found, strict=True)]


def _judge_one(measured: Judged, p: float | None, adjusted_p: float | None) -> Judged:
    verdict = judge(
        measured.claimed,
        measured.effect.value if measured.effect else None,
        measured.interval,
        adjusted_p,
        measured.seeds,
        seeds_needed(measured.config),
        measured.effect.converged if measured.effect else (),
    )
    return replace(measured, p=p, adjusted_p=adjusted_p, verdict=verdict)


def _measure(
    family: str,
    config: FamilyConfig,
    archive: Archive,
    referee: Referee,
    tasks: Mapping[str, ShownTask],
    source: str,
) -> Iterator[Judged]:
    """The effects of a family's findings, task by task and corpus by corpus."""
    for name, finding in config.findings.items():
        for task in finding.tasks:
            if task not in tasks:
                where = f"{family}.{name}.tasks"
                raise UsageError(f"{where}: there is no task {task!r}{nearest(task, list(tasks))}")
            shown = tasks[task]
            blank = Judged(name, family, finding, source, task, shown.title, {}, "", None, ())
            if finding.kind == "perplexity":
                yield from _measure_texts(blank, shown, archive, config.experiment)
            else:
                names = {"task": shown.paper.name}
                printed = replace(blank, paper=_printed(finding, names, f"{family}.{name}"))
                yield from _measure_runs(printed, archive, referee)


def _printed(finding: FindingConfig, names: Mapping[str, str | None], where: str) -> dict[str, Any]:
    return {
        str(side): paper_number(path, names, f"{where}.paper.{side}") for side, path in finding.paper.items()
    }


def _measure_runs(blank: Judged, archive: Archive, referee: Referee) -> Iterator[Judged]:
    """One finding about a task, at every place that has runs of both conditions; else what is to be run."""
    finding, source, task = blank.config, blank.source, blank.task
    conditions = conditions_of(finding, f"{blank.family}.{blank.name}")
    found = [archive.find(place, task, *conditions) for place in archive.places(source, task)]
    usual = archive.usual_encoder(source)
    nowhere = Sides(None, usual.encoder, {}, {}, chosen_by=usual.chosen_by)
    nearest_to_one = max(found, key=lambda sides: len(sides.records), default=nowhere)
    for sides in [one for one in found if one.seeds] or [nearest_to_one]:
        yield replace(
            blank,
            setting=sides.setting,
            effect=MEASURES[finding.kind](finding, sides, referee) if sides.seeds else None,
            commands=_missing(blank, conditions, sides),
        )


def _missing(
    blank: Judged, conditions: tuple[Condition | None, Condition], sides: Sides
) -> tuple[Command, ...]:
    """The commands that make the runs which a finding's test lacks."""
    wanted = range(1, seeds_needed(blank.config) + 1)
    if sides.seeds >= len(wanted):
        return ()
    commands = []
    for condition, known in zip(conditions, (sides.first, sides.second), strict=True):
        seeds = [seed for seed in wanted if seed not in known]
        if condition and seeds:
            commands.append(command_for(blank.task, blank.source, condition, seeds, sides))
    return tuple(commands)


def _measure_texts(
    blank: Judged, task: ShownTask, archive: Archive, experiment: str | None
) -> Iterator[Judged]:
    """A finding about perplexity, for every text of a task and every biLM that was trained on with it."""
    finding, where = blank.config, f"{blank.family}.{blank.name}"
    models_of = _models(archive.published, blank.source, task.name)
    usual = archive.usual_encoder(blank.source).chosen_by
    for text, streams in (task.paper.texts or {task.title: ()}).items():
        # The paper names a whole text by a corpus; ours may be another one.
        subject = text if streams else task.title
        named = replace(blank, subject=subject, paper=_printed(finding, {"text": text}, where))
        measured = [
            replace(
                named,
                subject=subject if streams or len(models[0].streams) == 1 else f"{subject}, {stream}",
                setting=setting,
                effect=measure_perplexity(models, stream),
                commands=_missing_texts(named, task.name, experiment, models, _chosen(models[0])),
            )
            for setting, models in models_of.items()
            for stream in models[0].streams
            if not streams or stream in streams
        ]
        yield from measured or [
            replace(named, commands=_missing_texts(named, task.name, experiment, (), usual))
        ]


def _missing_texts(
    blank: Judged,
    task: str,
    experiment: str | None,
    models: Sequence[PerplexityRecord],
    chosen: Sequence[str],
) -> tuple[Command, ...]:
    """The command for the fine-tuned biLMs that a finding still needs, one for each seed."""
    wanted = range(1, seeds_needed(blank.config) + 1)
    if len(models) >= len(wanted):
        return ()
    lacking = sorted({*wanted} - {model.seed for model in models})
    seeds = f"seed={','.join(map(str, lacking))}"
    return (Command(task, (f"+experiment={experiment}", f"data={blank.source}", *chosen, seeds)),)


def _chosen(record: PerplexityRecord) -> tuple[str, ...]:
    """The overrides that choose a fine-tuned biLM and its text."""
    tuned = record.finetuned
    corpus = () if tuned.source == GENERATED else (f"data.corpus={tuned.corpus}",)
    return (*corpus, *choose_encoder(tuned.encoder))


def _models(published: Published, source: str, task: str) -> dict[str, list[PerplexityRecord]]:
    """The biLMs that were fine-tuned in the same way, one for each seed."""
    found: dict[str, dict[int, PerplexityRecord]] = defaultdict(dict)
    for record in published.perplexities:
        tuned = record.finetuned
        if (tuned.source, tuned.task) == (source, task):
            parts = (tuned.corpus, tuned.encoder, describe_schedule(record), FRESH)
            found[", ".join(filter(None, parts))][record.seed] = record
    return {setting: [by_seed[seed] for seed in sorted(by_seed)] for setting, by_seed in found.items()}
