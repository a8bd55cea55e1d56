"""What a cell links to: the runs of one condition, or of the two that a gain compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean

from elmo_bench.commands import spell_run
from elmo_bench.conditions import describe_condition, flatten, name_encoders
from elmo_bench.records import Record
from elmo_bench.report.cells import marks_of
from elmo_bench.report.comparison import Run, Seeds, pair_seeds, same_examples
from elmo_bench.report.convergence import MARK, met_cap
from elmo_bench.report.differences import distinguish, shorten
from elmo_bench.report.examples import Confusion, count_confusion, find_cases
from elmo_bench.report.inputs import MAIN_EXPERIMENT, ReportInputs, ShownTask
from elmo_bench.report.model import ConditionDetail, Details, Examples, PairDetail, Section, SeedDetail
from elmo_bench.report.overrides import choose_condition
from elmo_bench.report.published import GENERATED, code_of
from elmo_bench.report.svg import Line, Spot, colour_of, draw_dots, draw_lines, linear_axis

SPLITS = ("dev", "test")
LABEL = ":"  # between a score and the label that it is of
UNREAD = ("data_sha256", "numerics", "task_version", "debug")  # of an identity: no settings
ENDS = {"patience": "patience", "cap": f"cap: {MARK}", "one pass": "one pass", None: "-"}


def build_details(sections: Iterable[Section], inputs: ReportInputs) -> Details:
    """The details of every condition and of every pair of conditions that a cell or a gain shows."""
    by_condition: dict[str, dict[int, Run]] = {}
    for run in inputs.published.runs:
        by_condition.setdefault(run.record.condition, {})[run.seed] = run
    names = name_encoders(run.record for run in inputs.published.runs)
    shown_in = list(sections)
    main = {
        conditions_of(runs) for runs in _shown_runs(one for one in shown_in if one.name == MAIN_EXPERIMENT)
    }
    shown = [key for runs in _shown_runs(shown_in) if (key := conditions_of(runs))]
    known = [key for key in dict.fromkeys(shown) if all(one in by_condition for one in key)]
    conditions = dict.fromkeys(one for key in known for one in key)
    pairs = (
        _compare(by_condition[key[1]], by_condition[key[0]], names, inputs, key in main)
        for key in known
        if len(key) == 2
    )
    return Details(
        tuple(_describe(by_condition[one], names, inputs) for one in conditions), tuple(filter(None, pairs))
    )


def _shown_runs(sections: Iterable[Section]) -> Iterator[tuple[str, ...]]:
    for section in sections:
        for table in section.tables:
            yield from (cell.runs for row in table.rows for cell in row)
        for forest in section.forests:
            yield from (gain.runs for group in forest.groups for gain in group.gains)


def conditions_of(runs: Iterable[str]) -> tuple[str, ...]:
    """The conditions that a cell names with its runs, the baseline's last."""
    return tuple(dict.fromkeys(name.rpartition("-s")[0] for name in runs))


def _describe(seeds: Seeds, names: Mapping[str, str], inputs: ReportInputs) -> ConditionDetail:
    records = [seeds[seed].record for seed in sorted(seeds)]
    record = records[0]
    task = inputs.tasks[record.task]
    world = " (generated world)" if record.source == GENERATED else ""
    return ConditionDetail(
        condition=record.condition,
        task=task.title,
        described=describe_condition(record, names),
        setting=f"source {record.source}{world}, corpus {record.corpus}, size {record.size}",
        metric=record.metric,
        marks=(*marks_of(records), *inputs.marks_of_encoder(record)),
        seeds=tuple(_describe_seed(seeds[seed]) for seed in sorted(seeds)),
        dots=draw_dots(f"Scores of {task.title} by seed", list(_dots(records)), record.metric),
        curves=_draw_curves(task.title, records),
        scores=tuple(tabulate_scores(records)),
        settings=tuple(_settings(record)),
        command=_command(records, task),
        confusion=_count_confusion(seeds, inputs),
    )


def _count_confusion(seeds: Seeds, inputs: ReportInputs) -> Confusion | None:
    """The labels of all seeds whose predictions are at hand; nothing where answers are words of the text."""
    found = [answers for run in seeds.values() if (answers := inputs.answers(run)) and answers.are_labels]
    return count_confusion(one for answers in found for one in answers.examples) if found else None


def _describe_seed(run: Run) -> SeedDetail:
    record = run.record
    kind, name = code_of(record)
    ended = ENDS["cap"] if met_cap(record) else ENDS[record.stopped]
    return SeedDetail(
        seed=run.seed,
        scores={split: record.scores[split][record.metric] for split in SPLITS},
        best_epoch=record.best_epoch,
        ended=ended,
        updates=record.updates,
        seconds=record.seconds.get("fitting"),
        code=f"{kind} {name}",
        record=run.counts.with_suffix(".json"),
        counts=run.counts,
        predictions=run.predictions,
    )


def _dots(records: Sequence[Record]) -> Iterator[tuple[str, int, list[float]]]:
    for colour, split in enumerate(SPLITS, start=1):
        yield split, colour, [record.scores[split][record.metric] for record in records]


def _draw_curves(title: str, records: Sequence[Record]) -> str:
    """Dev by epoch, a colour for each seed; a dot is the best epoch, a square the cap that was met."""
    curves = {
        record.seed: tuple((row["epoch"], row["dev"]) for row in record.curve)
        for record in records
        if len(record.curve) > 1
    }
    points = [point for curve in curves.values() for point in curve]
    if not points:
        return ""
    colours = {seed: colour_of(number) for number, seed in enumerate(curves)}
    lines = [Line(f"seed {seed}", curve, colours[seed]) for seed, curve in curves.items()]
    spots = []
    for record in records:
        for epoch, dev in curves.get(record.seed, ()):
            if epoch == record.best_epoch:
                spots.append(Spot(epoch, dev, colours[record.seed]))
        if record.seed in curves and met_cap(record):
            spots.append(Spot(*curves[record.seed][-1], colours[record.seed], is_hollow=True))
    across = linear_axis("epoch", [0.0, *(x for x, _ in points)])
    up = linear_axis(f"dev {records[0].metric}", [y for _, y in points])
    return draw_lines(f"Learning curves of {title}, seed by seed", lines, across, up, spots)


def tabulate_scores(records: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    """The mean test scores over the seeds: a row for each label, after those of all labels together."""
    test = [record.scores["test"] for record in records]
    means = {
        name: mean(scores[name] for scores in test)
        for name in test[0]
        if all(name in scores for scores in test)
    }
    kinds = list(dict.fromkeys(name.partition(LABEL)[0] for name in means))
    labels = dict.fromkeys(name.partition(LABEL)[2] for name in means)
    yield ("", *kinds)
    for label in labels:
        named = [f"{kind}{LABEL}{label}" if label else kind for kind in kinds]
        yield (label or "all", *(f"{means[name]:.2f}" if name in means else "" for name in named))


def _settings(record: Record) -> Iterator[tuple[str, str]]:
    """Everything that decides the numbers, as the record has it."""
    for key, value in flatten({key: part for key, part in record.identity.items() if key not in UNREAD}):
        if value is not None:
            yield key, shorten(value)


def _command(records: Sequence[Record], task: ShownTask) -> str:
    """The command that makes such runs; settings of the task are those of the installed version."""
    words = choose_condition(records[0], task.defaults.get(records[0].source))
    seeds = ",".join(str(one.seed) for one in records)
    return spell_run([*words, f"seed={seeds}"], sweep=len(records) > 1)


def _compare(
    before: Seeds, after: Seeds, names: Mapping[str, str], inputs: ReportInputs, is_main: bool
) -> PairDetail | None:
    """Both conditions seed by seed; nothing where they share no seed."""
    pairs = pair_seeds(before, after)
    if not pairs:
        return None
    first, second = ([run.record for run in side] for side in zip(*pairs, strict=True))
    rows = [("seed", *(f"{split} {what}" for split in SPLITS for what in ("before", "after", "gain")))]
    for one, other in zip(first, second, strict=True):
        cells = []
        for split in SPLITS:
            scores = [record.scores[split][record.metric] for record in (one, other)]
            cells += [f"{scores[0]:.2f}", f"{scores[1]:.2f}", f"{scores[1] - scores[0]:+.2f}"]
        rows.append((str(one.seed), *cells))
    sides = ("before", first, 1), ("after", second, 2)
    dots = [
        (name, colour, [record.scores["test"][record.metric] for record in records])
        for name, records, colour in sides
    ]
    metric = first[0].metric
    record, other = first[0], second[0]
    described = [describe_condition(one, names) for one in (record, other)]
    said_before, said_after = distinguish(described, [record, other])
    return PairDetail(
        f"{inputs.tasks[record.task].title} on {record.corpus}, seed by seed",
        record.condition,
        other.condition,
        said_before,
        said_after,
        draw_dots("Test scores of both conditions by seed", dots, f"test {metric}"),
        tuple(rows),
        _find_examples(before, after, inputs) if is_main else None,
        is_main,
    )


def _find_examples(before: Seeds, after: Seeds, inputs: ReportInputs) -> Examples | None:
    """The cases of the first seed with answers at hand; only the generated world's text is ours to show."""
    for one, other in pair_seeds(before, after):
        first, second = inputs.answers(one), inputs.answers(other)
        if first and second and same_examples(one.record, other.record, "test"):
            cases = [
                find_cases(right.examples, wrong.examples)
                for right, wrong in ((first, second), (second, first))
            ]
            has_text = one.record.source == GENERATED
            return Examples(one.seed, tuple(cases[0]), tuple(cases[1]), has_text)
    return None
