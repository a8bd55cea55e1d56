"""The paper's figures from the records: learning curves, layer weights, sample efficiency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean, median

from elmo_bench.report.cells import (
    NO_RUN,
    NOTHING,
    gain_cell,
    interval_cell,
    spell_spread,
    test_cell,
    text,
)
from elmo_bench.report.comparison import Run, Seeds
from elmo_bench.report.layout import TASKS
from elmo_bench.report.library import BASELINE, PAPER, Block
from elmo_bench.report.model import Cell, Figure, Section, Table
from elmo_bench.report.paper import lookup
from elmo_bench.report.statistics import spread
from elmo_bench.report.svg import Axis, Line, draw_heat_map, draw_lines, linear_axis, log_axis
from elmo_bench.report.tables import UNUSED, Desk, caption_of, command_for, describe_block, notes_of

BASELINE_COLOUR, ELMO_COLOUR = 1, 2
TITLES = {name: title for title, name in TASKS.items()}
EFFICIENCY = "Figure 1: sample efficiency"
WEIGHTS = "Figure 2: layer weights"
CURVES = "Learning curves"
SAMPLED = ("SNLI", "SRL")  # the tasks of Figure 1
LOWEST = ("token layer", "LSTM 1", "LSTM 2")  # the names of a biLM's layers, from below


def learning_curves(desk: Desk) -> Section:
    """Dev score by epoch with and without ELMo, task by task."""
    figures = []
    for block in desk.blocks(list(TITLES)):
        for task, title in TITLES.items():
            shelf = desk.shelf(block, task)
            groups = {"without ELMo": shelf.find(BASELINE), "with ELMo": shelf.find(PAPER)}
            if any(run.record.curve for seeds in groups.values() for run in seeds.values()):
                figures.append(_learning_curve(title, block, groups))
    about = (
        "Dev score after every epoch: the thick line is the mean over the seeds that were still "
        "training, the thin ones are single seeds. The paper prints no such figure, but claims from its "
        "curves (Figure 1's section)."
    )
    return Section("curves", CURVES, about, figures=tuple(figures))


def _learning_curve(title: str, block: Block, groups: dict[str, Seeds]) -> Figure:
    lines = []
    for colour, (label, seeds) in enumerate(groups.items(), start=1):
        curves = [[(row["epoch"], row["dev"]) for row in run.record.curve] for run in seeds.values()]
        lines += [Line(label, tuple(curve), colour, faint=True) for curve in curves if len(curves) > 1]
        by_epoch: dict[float, list[float]] = {}
        for epoch, dev in (point for curve in curves for point in curve):
            by_epoch.setdefault(epoch, []).append(dev)
        averaged = tuple((epoch, mean(values)) for epoch, values in sorted(by_epoch.items()))
        if averaged:
            lines.append(Line(label, averaged, colour))
    points = [point for line in lines for point in line.points]
    metric = next(run.record.metric for seeds in groups.values() for run in seeds.values())
    across = linear_axis("epoch", [0, *(x for x, _ in points)])
    ends = max(x for x, _ in points)
    across = replace(across, high=max(ends, 1), ticks=tuple(tick for tick in across.ticks if tick <= ends))
    up = linear_axis(f"dev {metric}", [y for _, y in points])
    svg = draw_lines(f"Learning curves of {title}", lines, across, up)
    return Figure("curves", caption_of(f"{CURVES}: {title}", "dev", block), svg)


def layer_weights(desk: Desk) -> Section:
    """Figure 2: the softmax-normalised weights s at the input and at the output."""
    figures = []
    tables = []
    for block in desk.blocks(list(TITLES)):
        for place in ("input", "output"):
            learnt = {
                title: rows
                for task, title in TITLES.items()
                if (rows := _weights(desk.shelf(block, task).find(PAPER), place))
            }
            if learnt:
                figures.append(_weight_map(place, block, learnt))
                tables.append(_weight_table(place, block, learnt))
    about = (
        "Mean over seeds of the softmax-normalised layer weights s, learnt with the paper's settings of each "
        "task. The paper prints no numbers; in its text LSTM 1 is favoured at the input, strongly by "
        "coreference and SQuAD, and the weights at the output are near balanced, slightly in favour of the "
        "lower layers."
    )
    return Section(
        "figure2", WEIGHTS, about, tuple(tables) or (_nothing("figure2", WEIGHTS),), tuple(figures)
    )


def _weights(seeds: Seeds, place: str) -> list[list[float]]:
    found = [run.record.learnt.get(place) for run in seeds.values()]
    return [list(entry["weights"]) for entry in found if entry]


def layer_names(count: int) -> list[str]:
    """From below; an encoder of another depth has numbers."""
    return list(LOWEST) if count == len(LOWEST) else [f"layer {number}" for number in range(count)]


def _weight_map(place: str, block: Block, learnt: dict[str, list[list[float]]]) -> Figure:
    count = max(len(row) for rows in learnt.values() for row in rows)
    means = {title: [mean(column) for column in zip(*rows, strict=True)] for title, rows in learnt.items()}
    values = [[column[layer] for column in means.values()] for layer in reversed(range(count))]
    svg = draw_heat_map(f"Layer weights at the {place}", list(means), layer_names(count)[::-1], values)
    return Figure("figure2", caption_of(f"{WEIGHTS} at the {place}", "training", block), svg)


def _weight_table(place: str, block: Block, learnt: dict[str, list[list[float]]]) -> Table:
    count = max(len(row) for rows in learnt.values() for row in rows)
    rows = []
    for title, seeds in learnt.items():
        found = [spread(column) for column in zip(*seeds, strict=True)]
        cells = [Cell((spell_spread(one),), "score", one.mean) for one in found]
        rows.append((text(title), text(place), *cells, text(str(len(seeds)))))
    caption = caption_of(f"{WEIGHTS} at the {place}", "training", block)
    columns = ("Task", "Place", *layer_names(count), "n")
    return Table("figure2", describe_block(block), caption, columns, tuple(rows), tuple(notes_of(block)))


def sample_efficiency(desk: Desk) -> Section:
    """Figure 1: dev scores on parts of the training set, and how soon ELMo passes the baseline's best."""
    tables, figures = [], []
    for block in desk.blocks(list(TITLES)):
        rows: list[tuple[Cell, ...]] = []
        for task, title in TITLES.items():
            shelf = desk.shelf(block, task)
            fractions = shelf.fractions()
            if len(fractions) < 2 and title not in SAMPLED:
                continue  # all that there is of it is in Table 1
            pairs = {
                share: (
                    shelf.find(replace(BASELINE, fraction=share)),
                    shelf.find(replace(PAPER, fraction=share)),
                )
                for share in fractions
            }
            rows += [_efficiency_row(title, share, *pair, desk) for share, pair in pairs.items() if any(pair)]
            if sum(bool(a and b) for a, b in pairs.values()) > 1:
                figures.append(_efficiency_figure(title, block, pairs))
        if rows:
            tables.append(_efficiency_table(block, rows))
    about = (
        "Dev scores on nested parts of the training set, and after how many epochs a run with ELMo has "
        "passed the best dev score that the baseline of its seed ever reached. In the paper SRL's baseline "
        "is best after 486 epochs and ELMo passes it after 10; with ELMo 1 % of the training set is worth "
        "some 10 % without. The paper's gains are read off its plot by a machine."
    )
    return Section(
        "figure1", EFFICIENCY, about, tuple(tables) or (_nothing("figure1", EFFICIENCY),), tuple(figures)
    )


def _efficiency_table(block: Block, rows: Sequence[tuple[Cell, ...]]) -> Table:
    columns = (
        "Task", "Training set", "Baseline", "+ ELMo", "Paper's gain", "Gain", "95 % interval", "p",
        "Passes baseline's best",
    )  # fmt: skip
    caption = caption_of(EFFICIENCY, "dev", block)
    shares = {(row[0].text, row[1].text) for row in rows if NO_RUN not in row}
    missing = [
        TASKS[title]
        for title in SAMPLED
        if any((title, spell_share(share)) not in shares for share in (0.001, 0.01, 0.1, 1.0))
    ]
    commands = (command_for("figure1", missing, block),) if missing else ()
    notes = tuple(notes_of(block))
    return Table("figure1", describe_block(block), caption, columns, tuple(rows), notes, commands)


def _efficiency_row(title: str, share: float, before: Seeds, after: Seeds, desk: Desk) -> tuple[Cell, ...]:
    labels = lookup("figures", "figure1_sample_efficiency_dev", "gain_labels_elmo_minus_baseline")
    printed = labels.get(title, {}).get(f"{100 * share:g}")
    theirs = (
        Cell((f"{printed['value']:+.1f}", "unverified"), "unverified", printed["value"])
        if printed
        else NOTHING
    )
    cells = (text(title), text(spell_share(share)), _dev(before), _dev(after), theirs)
    runs = list(before.values()) + list(after.values())
    found = desk.referee.compare(before, after, "dev", runs[0].record.metric)
    if found is None:
        return (*cells, NOTHING, NOTHING, NOTHING, NOTHING)
    passed = [epochs_to_pass(before[seed], after[seed]) for seed in found.seeds]
    return (*cells, gain_cell(found), interval_cell(found), test_cell(found), passing_cell(passed))


def spell_share(share: float) -> str:
    return f"{100 * share:g} %"


def _dev(seeds: Seeds) -> Cell:
    if not seeds:
        return NO_RUN
    found = spread([run.record.scores["dev"][run.record.metric] for run in seeds.values()])
    return Cell((spell_spread(found), f"n = {found.count}"), "score", found.mean)


def epochs_to_pass(before: Run, after: Run) -> tuple[int, int | None]:
    """The baseline's best epoch, and the first epoch in which the other run was better than that."""
    best = max(before.record.curve, key=lambda row: row["dev"], default={"epoch": 0, "dev": 0.0})
    passing = (int(row["epoch"]) for row in after.record.curve if row["dev"] > best["dev"])
    return int(best["epoch"]), next(passing, None)


def passing_cell(passed: Sequence[tuple[int, int | None]]) -> Cell:
    """Medians over seeds, and how many never got there."""
    there = [epoch for _, epoch in passed if epoch is not None]
    lines = [f"in epoch {median(there):g}"] if there else []
    if len(there) < len(passed):
        lines.append(f"never in {len(passed) - len(there)} of {len(passed)}")
    lines.append(f"best: epoch {median(epoch for epoch, _ in passed):g}")
    return Cell(tuple(lines), "score", float(median(there)) if there else None)


def _efficiency_figure(title: str, block: Block, pairs: dict[float, tuple[Seeds, Seeds]]) -> Figure:
    lines = []
    for colour, label in ((BASELINE_COLOUR, "without ELMo"), (ELMO_COLOUR, "with ELMo")):
        found = {
            share: spread([run.record.scores["dev"][run.record.metric] for run in seeds.values()])
            for share, pair in pairs.items()
            if (seeds := pair[colour - 1])
        }
        points = tuple((100 * share, one.mean) for share, one in found.items())
        lines.append(Line(label, points, colour, deviations=tuple(one.deviation for one in found.values())))
    metric = next(run.record.metric for pair in pairs.values() for seeds in pair for run in seeds.values())
    across: Axis = log_axis("percent of the training set", [100 * share for share in pairs])
    up = linear_axis(f"dev {metric}", [y for line in lines for _, y in line.points])
    svg = draw_lines(f"Sample efficiency of {title}", lines, across, up)
    return Figure("figure1", caption_of(f"{EFFICIENCY}: {title}", "dev", block), svg)


def _nothing(name: str, title: str) -> Table:
    """What stands where there is no run at all."""
    command = f"python run.py -m +experiment={name} data={UNUSED.source}"
    caption = caption_of(title, "dev", UNUSED)
    return Table(name, describe_block(UNUSED), caption, ("Runs",), ((NO_RUN,),), (), (command,))
