"""What ELMo gains in the paper's setting of each task: a Markdown table and a figure for the README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from statistics import mean

from elmo_bench.records import Record
from elmo_bench.report.cells import spell_main
from elmo_bench.report.comparison import MainTest, Pairs, Referee, pair_seeds
from elmo_bench.report.convergence import SIGN, met_cap
from elmo_bench.report.published import BASELINE, PAPER, Published, Wanted
from elmo_bench.report.svg import Axis, linear_axis

RISING, CAPPED = " †", f" {SIGN}"
PROBE, WORDS_ALONE = Wanted({}, words="any"), Wanted("none", words="any")  # a probe reads ELMo alone
WIDTH, ROW, TOP, BOTTOM, LEFT, RIGHT = 720, 30, 20, 62, 150, 150

# The figure stands alone: a page cannot give its colours to an image.
STYLE = """
text { font: 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1c2024; }
.soft { fill: #5b6470; }
.grid { stroke: #d9dde3; }
.zero { stroke: #5b6470; }
.sure { stroke: #0b62b8; fill: #0b62b8; stroke-width: 2; }
.open { stroke: #a9760a; fill: #ffffff; stroke-width: 2; }
.alone { stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e7eaee; }
  .soft { fill: #a3adb8; }
  .grid { stroke: #343b44; }
  .sure { stroke: #6fb3f5; fill: #6fb3f5; }
  .open { stroke: #d9a514; fill: #15181c; }
}
"""


@dataclass(frozen=True)
class TaskGain:
    """The baseline and the paper's ELMo setting of one task on one corpus, paired by seed."""

    title: str
    corpus: str
    metric: str
    baseline: float
    elmo: float
    gain: float
    interval: MainTest | None
    seeds: int
    rising: bool  # every run of the baseline has its best dev score at the end of training
    capped: bool  # the cap on epochs ended the training of some run

    @property
    def mark(self) -> str:
        """What the table and the figure have next to the gain."""
        return RISING if self.rising else CAPPED if self.capped else ""


def find_gains(published: Published, source: str, referee: Referee) -> list[TaskGain]:
    """One gain per task and corpus of a source: converged ones first, then by size."""
    return sorted(_gains_of(published, source, referee), key=lambda gain: (gain.rising, -gain.gain))


def _gains_of(published: Published, source: str, referee: Referee) -> Iterator[TaskGain]:
    for block in published.blocks():
        if block.source != source or not block.encoder or published.first_encoder(block) != block:
            continue
        for task in sorted({run.record.task for run in published.runs}):
            runs = published.of_task(block, task)
            after = runs.find(PAPER) or runs.find(PROBE)
            before = runs.baseline(after, BASELINE) or runs.baseline(after, WORDS_ALONE)
            if pairs := pair_seeds(before, after):
                yield _gain_of(pairs, referee)


def _gain_of(runs: Pairs, referee: Referee) -> TaskGain:
    pairs = [(first.record, second.record) for first, second in runs]
    record = pairs[0][0]
    scores = [(_test(first), _test(second)) for first, second in pairs]
    return TaskGain(
        str(record.config["task"].get("title") or record.task),
        record.corpus,
        record.metric,
        mean(first for first, _ in scores),
        mean(second for _, second in scores),
        mean(second - first for first, second in scores),
        referee.judge(runs, "test", record.metric),
        len(runs),
        all(is_rising(first) for first, _ in pairs),
        any(met_cap(run) for pair in pairs for run in pair),
    )


def is_rising(record: Record) -> bool:
    """Whether training met its cap with its best dev score at the end, so that more may give a better one."""
    return met_cap(record) and record.best_epoch == record.curve[-1]["epoch"]


def _test(record: Record) -> float:
    return record.scores["test"][record.metric]


def write_gains(gains: Sequence[TaskGain]) -> str:
    """The Markdown table."""
    lines = ["| task (corpus) | metric | baseline | + ELMo | gain | seeds |", "|---|---|---|---|---|---|"]
    for gain in gains:
        interval = f" {spell_main(gain.interval, digits=1)}" if gain.interval else ""
        lines.append(
            f"| {gain.title} ({gain.corpus}) | {gain.metric} | {gain.baseline:.1f} | {gain.elmo:.1f} "
            f"| {gain.gain:+.1f}{interval}{gain.mark} | {gain.seeds} |"
        )
    return "\n".join(lines)


def draw_gains(gains: Sequence[TaskGain], subtitle: str) -> str:
    """The figure: one row per gain, with the interval of its main test where there is one."""
    ends = [end for gain in gains for end in _ends(gain)]
    axis = linear_axis("", [0.0, *ends])
    height = TOP + ROW * len(gains) + BOTTOM
    title = f"Gain of ELMo over the baseline, {subtitle}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        *_grid(axis, height),
    ]
    for row, gain in enumerate(gains):
        parts += _row(gain, axis, TOP + ROW * (row + 0.5))
    parts += [
        f'<text class="soft" x="{LEFT}" y="{height - 22}">points gained on test, {escape(subtitle)}; '
        f"hollow: some run met its cap on epochs;{RISING}: while dev still rose</text>",
        f'<text class="soft" x="{LEFT}" y="{height - 6}">bar: 95 % interval over seeds and test examples; '
        "dashed: over test examples alone</text>",
    ]
    return "\n".join([*parts, "</svg>", ""])


def _ends(gain: TaskGain) -> tuple[float, ...]:
    return (gain.gain, *((gain.interval.low, gain.interval.high) if gain.interval else ()))


def _grid(axis: Axis, height: int) -> list[str]:
    parts = []
    for tick in axis.ticks:
        x, bottom = _x(axis, tick), height - BOTTOM + 4
        kind = "zero" if tick == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}"/>')
        parts.append(
            f'<text class="soft" x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{tick:+g}</text>'
        )
    return parts


def _row(gain: TaskGain, axis: Axis, y: float) -> list[str]:
    kind = "open" if gain.capped else "sure"
    x = _x(axis, gain.gain)
    parts = [
        f'<text x="{LEFT - 14}" y="{y + 4:.1f}" text-anchor="end">{escape(gain.title)} '
        f'<tspan class="soft">{escape(gain.corpus)}</tspan></text>',
    ]
    if gain.interval:
        low, high = _x(axis, gain.interval.low), _x(axis, gain.interval.high)
        over = kind if gain.interval.basis == "seeds and examples" else f"{kind} alone"
        parts.append(f'<line class="{over}" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
    parts.append(
        f'<text class="soft" x="{WIDTH - RIGHT + 12}" y="{y + 4:.1f}">'
        f"{gain.baseline:.1f} → {gain.elmo:.1f}, n = {gain.seeds}{gain.mark}</text>"
    )
    return parts


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)
