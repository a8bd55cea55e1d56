"""The whole report from published records."""

from __future__ import annotations

from collections.abc import Callable

from elmo_bench.config import TableConfig
from elmo_bench.report.convergence import MARK
from elmo_bench.report.details import build_details
from elmo_bench.report.efficiency import sample_efficiency
from elmo_bench.report.encoders import build_encoders
from elmo_bench.report.ensembles import name_not_shown
from elmo_bench.report.figures import layer_weights, learning_curves
from elmo_bench.report.finding_rows import build_findings
from elmo_bench.report.forests import build_gains
from elmo_bench.report.further import build_further
from elmo_bench.report.inference import SEEDS_NEEDED
from elmo_bench.report.inputs import MAIN_EXPERIMENT, ReportInputs, tables_of_tasks
from elmo_bench.report.layers import build_layers
from elmo_bench.report.model import Report, Section
from elmo_bench.report.neighbours import build_neighbours
from elmo_bench.report.perplexities import build_perplexities
from elmo_bench.report.published import code_of, describe_code
from elmo_bench.report.tables import build_section, lay_out

NOTES = (
    "Here: mean ± standard deviation (n - 1) over n seeds. Gains are paired by seed with the row they "
    "are over.",
    f"{MARK.capitalize()}: the cap on epochs, not patience, ended the training of a run. Its score may still "
    "rise, and a gain may be one of speed; no verdict is drawn from such a number.",
    "95 % interval: of the main test, a bootstrap that draws seeds and test examples together, the same "
    f"examples for all seeds; fewer than {SEEDS_NEEDED} seeds have none over seeds. Seeds: Student's t over "
    "the paired differences. Examples: percentiles of a paired bootstrap, in which every system and seed is "
    "scored on the same test sets drawn with replacement.",
    "p, two-sided: of the main test, and adjusted for the number of tests in the table (Holm). Bootstrap: "
    "the share of resampled gains that lie as far from the observed gain as 0 does. Sign-flip over the seeds "
    "(exact up to 12; with three seeds it cannot be below 0.25). McNemar's exact test where every example is "
    "right or wrong, over several seeds twice the median of their p, which is valid however they depend on "
    "each other.",
    "Updates to pass: speed of learning, the median number of updates after which a run passed the best dev "
    "score that the baseline of its seed ever had.",
    "Percent of the error: the gain divided by what the baseline had wrong.",
    "Paper's numbers are those of Peters et al. 2018 (arXiv 1802.05365 v2); unverified ones are from memory "
    "or a second-hand source. Gains in its column are differences of its rounded numbers.",
    "Numbers of different sources, sizes or encoders never share a table, except in the tables that compare "
    "encoders, and in rows that name their encoder. Where a table has several corpora, every row names its "
    "own, and gains are over runs on the same corpus.",
)


BUILDERS: dict[str, Callable[[str, TableConfig, ReportInputs], Section]] = {
    "sample_efficiency": sample_efficiency,
    "layer_weights": layer_weights,
    "neighbours": build_neighbours,
    "perplexities": build_perplexities,
    "encoders": build_encoders,
    "layers": build_layers,
}
CURVES_AT = 12  # after Figure 2


def assemble(inputs: ReportInputs) -> Report:
    """Findings, gains, the paper's tables and figures in its order, and last the runs that none shows."""
    placed: list[tuple[float, Section]] = [(CURVES_AT, learning_curves(inputs))]
    for name, table in sorted(inputs.tables.items(), key=lambda item: (item[1].position, item[0])):
        if table.kind == "scores":
            section = build_section(lay_out(name, table, inputs.tasks), inputs)
        else:
            section = BUILDERS[table.kind](name, table, inputs)
        placed.append((table.position, section))
    for name, table in tables_of_tasks(inputs.tasks.values()):
        section = build_section(lay_out(name, table, inputs.tasks, MAIN_EXPERIMENT), inputs)
        placed.append((table.position, section))
    sections = [section for _, section in sorted(placed, key=lambda item: (item[0], item[1].name))]
    if further := build_further(inputs):
        sections.append(further)
    opening = [build_findings(inputs)] if inputs.families else []
    if gains := build_gains(inputs):
        opening.append(gains)
    sections = [*opening, *sections]
    problems = (*inputs.published.problems, *name_not_shown(inputs))
    warnings = (*problems, *inputs.warnings, *inputs.referee.problems)
    details = build_details(sections, inputs)
    return Report(summarise_published(inputs), tuple(sections), warnings, NOTES, details)


def summarise_published(inputs: ReportInputs) -> str:
    """How much there is, in one sentence."""
    records = [run.record for run in inputs.published.runs]
    conditions = {(record.task, record.condition) for record in records}
    tasks = sorted({record.task for record in records})
    return (
        f"Made from {len(records)} published runs of {len(conditions)} conditions ({', '.join(tasks)}), "
        f"from {describe_code(map(code_of, records))}."
    )
