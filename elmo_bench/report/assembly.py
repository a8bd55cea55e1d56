"""The whole report from a library of records."""

from __future__ import annotations

from elmo_bench.report.figures import layer_weights, learning_curves, sample_efficiency
from elmo_bench.report.layout import layer_weighting, location, main_results, per_task, probes, word_vectors
from elmo_bench.report.listings import neighbours, perplexities
from elmo_bench.report.model import Report
from elmo_bench.report.tables import Desk, build_section

NOTES = (
    "Here: mean ± standard deviation (n - 1) over n seeds. Gains are paired by seed with the row they "
    "are over.",
    "95 % interval, seeds: Student's t over the paired differences of the seeds. Examples: percentiles of a "
    "paired bootstrap, in which every system and seed is scored on the same test sets drawn with "
    "replacement.",
    "p, two-sided: the bootstrap's share of resampled gains that lie as far from the observed gain as 0 "
    "does; sign-flip over the seeds (exact up to 12; with three seeds it cannot be below 0.25); McNemar's "
    "exact test where every example is right or wrong, over several seeds twice the median of their p, which "
    "is valid however they depend on each other. No p is corrected for the number of comparisons on "
    "this page.",
    "Percent of the error: the gain divided by what the baseline had wrong.",
    "Paper's numbers are those of Peters et al. 2018 (arXiv 1802.05365 v2); unverified ones are from memory "
    "or a second-hand source. Gains in its column are differences of its rounded numbers.",
    "Numbers of different sources, corpora, sizes or encoders never share a table.",
)


def assemble(desk: Desk) -> Report:
    """Every table and figure in the order of the paper."""
    first = [build_section(layout, desk) for layout in (main_results(), layer_weighting(), location())]
    probed = [build_section(layout, desk) for layout in probes()]
    supplement = [build_section(layout, desk) for layout in per_task()]
    library = desk.library
    sections = (
        *first,
        neighbours(library),
        *probed,
        sample_efficiency(desk),
        layer_weights(desk),
        learning_curves(desk),
        perplexities(library),
        build_section(word_vectors(), desk),
        *supplement,
    )
    warnings = (*library.problems, *desk.warnings, *desk.referee.problems)
    return Report(summarise_library(desk), sections, warnings, NOTES)


def summarise_library(desk: Desk) -> str:
    """How much there is, in one sentence."""
    records = [run.record for run in desk.library.runs]
    conditions = {(record.task, record.condition) for record in records}
    commits = {str(record.environment.get("commit"))[:9] for record in records}
    tasks = sorted({record.task for record in records})
    return (
        f"Made from {len(records)} published runs of {len(conditions)} conditions ({', '.join(tasks)}), "
        f"from {'commit' if len(commits) == 1 else 'commits'} {', '.join(sorted(commits))}."
    )
