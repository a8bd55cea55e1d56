"""docs/DECISIONS.md has the measured gain of every hand-written gradient, which is large enough."""

from __future__ import annotations

import re

from benchmarks.gradients import BILMS, CASES
from tests.conftest import PROJECT
from tests.support.markdown import read_page, section, table_rows

HEADING, _, *ROWS = table_rows(section(read_page("docs/DECISIONS.md"), "Gradients by hand"))
LEAST_GAIN = 1.3


def hand_written() -> set[str]:
    """The classes of hand-written gradients in the source."""
    sources = [
        path.read_text() for room in ("elmo_bench", "tasks") for path in (PROJECT / room).rglob("*.py")
    ]
    pattern = re.compile(r"^class (\w+)\((?:torch\.)?(?:autograd\.)?Function\)", re.MULTILINE)
    return {name for source in sources for name in pattern.findall(source)}


def test_every_gradient_is_measured_at_both_sizes() -> None:
    assert hand_written() == set(CASES)
    measured = {(row[0].strip("`"), row[2]) for row in ROWS}
    assert measured == {(name, size) for name in CASES for size in BILMS}


def test_gradients_that_gain_little_are_not_kept() -> None:
    time, memory = (index for index, name in enumerate(HEADING) if name == "gain")
    for row in ROWS:
        if row[2] == "paper":
            assert max(float(row[time]), float(row[memory])) >= LEAST_GAIN, row
