"""What the jobs of a sweep leave behind, and what is said when all have ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.types import InterruptedRunError

OUTCOME = "outcome.json"


@dataclass(frozen=True)
class JobEnd:
    """How one job of a sweep ended, as its process wrote it down."""

    overrides: list[str]
    exit_code: int
    error: str
    result: str = ""  # the record's file


def read_ends(sweep: Path) -> list[JobEnd]:
    """How the jobs of a sweep ended; one that wrote nothing was killed."""
    ends = []
    for directory in sorted(sweep.glob("[0-9]*"), key=lambda path: int(path.name)):
        outcome = directory / OUTCOME
        if outcome.exists():
            ends.append(JobEnd(**json.loads(outcome.read_text())))
        else:
            ends.append(JobEnd([f"job {directory.name}"], 1, "killed before it could say why"))
    return ends


def conclude(ends: list[JobEnd]) -> int:
    """Name the jobs of a sweep that failed; all is well only if none did."""
    failed = [end for end in ends if end.exit_code]
    results = sorted({end.result for end in ends if end.result})
    if results:
        from elmo_bench.records import read_record
        from elmo_bench.report.summary import summarise

        print(f"\n{summarise([read_record(Path(result)) for result in results])}")
    print(f"\n{len(ends) - len(failed)} of {len(ends)} jobs done")
    for end in failed:
        print(f"  failed: {' '.join(end.overrides)}\n    {end.error}")
    if any(end.exit_code == InterruptedRunError.exit_code for end in failed):
        return InterruptedRunError.exit_code
    return 1 if failed else 0
