"""The rows of ensembles: several runs of one condition that predict together."""

from __future__ import annotations

from collections.abc import Iterator

from elmo_bench.commands import spell_command
from elmo_bench.config import TableConfig
from elmo_bench.records import EnsembleRecord
from elmo_bench.report.cells import NO_RUN, marks_of
from elmo_bench.report.comparison import Seeds
from elmo_bench.report.inputs import ReportInputs
from elmo_bench.report.model import Cell

NO_ENSEMBLE = Cell(("no ensemble",), "missing")


def ensemble_cell(table: TableConfig, seeds: Seeds, inputs: ReportInputs) -> Cell:
    """The score of the largest ensemble of some runs; a gain would need several ensembles."""
    if not seeds:
        return NO_RUN
    found = find_ensembles(seeds, inputs)
    inputs.shown_ensembles |= {ensemble.name for ensemble in found}
    return score_ensemble(table, found[0], seeds) if found else NO_ENSEMBLE


def find_ensembles(seeds: Seeds, inputs: ReportInputs) -> list[EnsembleRecord]:
    """The ensembles of one condition, the largest first."""
    record = next(iter(seeds.values())).record
    fitting = [
        ensemble
        for ensemble in inputs.published.ensembles
        if (ensemble.task, ensemble.condition) == (record.task, record.condition)
    ]
    return sorted(fitting, key=lambda ensemble: (-len(ensemble.members), ensemble.name))


def score_ensemble(table: TableConfig, ensemble: EnsembleRecord, seeds: Seeds) -> Cell:
    """Its metric, or the scores that the table prints, and how many runs it is of."""
    scores = ensemble.scores[table.split]
    chosen = {label: name for label, name in table.statistics.items() if name in scores}
    chosen = chosen or {"": ensemble.metric}
    lines = [f"{label} {scores[name]:.2f}".strip() for label, name in chosen.items()]
    runs = tuple(f"{member.condition}-s{member.seed}" for member in ensemble.members)
    lines.append(f"ensemble of {len(runs)}")
    members = {member.seed for member in ensemble.members}
    marks = marks_of(run.record for seed, run in seeds.items() if seed in members)
    return Cell(tuple(lines), "score", scores[ensemble.metric], marks=marks, runs=runs)


def ensemble_command(task: str, seeds: Seeds) -> list[str]:
    """The command that fills the cell; none where a single run has nothing to be combined with."""
    if len(seeds) < 2:
        return []
    condition = next(iter(seeds.values())).record.condition
    return [f"{spell_command('ensemble')} results/runs/{task}/{condition}-s*"]


def name_not_shown(inputs: ReportInputs) -> Iterator[str]:
    """Every published ensemble that no table has a row for."""
    for ensemble in inputs.published.ensembles:
        if ensemble.name not in inputs.shown_ensembles:
            reason = "its members differ in more than their seeds"
            if ensemble.condition:
                reason = "no table has a row for ensembles of its condition"
            yield f"{ensemble.task}/ensemble-{ensemble.name} is not shown: {reason}"
