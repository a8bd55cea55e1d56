"""What the jobs of a sweep leave behind, and what is said when all have ended."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hydra.errors import HydraException

from elmo_bench.files import write_atomically
from elmo_bench.types import InterruptedRunError

OUTCOME = "outcome.json"
CLUSTER = ".submitit"  # where submitit keeps its jobs
KILLED = "killed before it could say why"


@dataclass(frozen=True)
class JobEnd:
    """How one job of a sweep ended, as its process wrote it down."""

    overrides: list[str]
    exit_code: int
    error: str
    result: str = ""  # the record's file


def write_end(directory: Path, end: JobEnd) -> None:
    """Leave word of how a job ended in its directory of the sweep."""
    write_atomically(directory / OUTCOME, json.dumps(vars(end)).encode())


def launch_all(jobs: list[list[str]], sweep: Path, launch: Callable[[list[list[str]], int], object]) -> None:
    """Launch jobs; where a launcher gives up because a process died, the others go on without it.

    On one machine the pool has died with all that was in it. Of the jobs at work only one is to blame, so
    each has a second chance, after those that had not begun. A cluster's jobs run on and are waited for.
    """
    first = 0
    killed_before: list[list[str]] = []
    while jobs:
        try:
            launch(jobs, first)
            return
        except HydraException:
            raise
        except Exception as error:  # the launchers' own kinds, of packages that need not be installed
            places = [(sweep / str(number), job) for number, job in enumerate(jobs, first)]
            if wait_for_cluster(sweep / CLUSTER):
                for place, job in places:
                    if not (place / OUTCOME).exists():
                        write_end(place, JobEnd(job, 1, f"ended on the cluster before it began: {error}"))
                return
            waiting = [job for place, job in places if not (place / OUTCOME).exists()]
            killed = [(place, job) for place, job in places if was_killed(place) and job not in killed_before]
            first = max((int(path.name) for path in sweep.glob("[0-9]*")), default=-1) + 1
            if not killed and len(waiting) == len(jobs):  # nothing began: the launcher itself does not work
                for number, job in enumerate(jobs, first):
                    write_end(sweep / str(number), JobEnd(job, 1, f"could not be launched: {error}"))
                return
            for place, _ in killed:
                shutil.rmtree(place)
            killed_before += [job for _, job in killed]
            jobs = [*waiting, *(job for _, job in killed)]


def wait_for_cluster(folder: Path) -> bool:
    """Wait until every job that submitit sent out has ended; false where there is none."""
    sent = sorted(folder.glob("*/*_submitted.pkl"))
    if sent:
        from submitit import SlurmJob

        for path in sent:
            SlurmJob(folder=path.parent, job_id=path.name.removesuffix("_submitted.pkl")).wait()
    return bool(sent)


def was_killed(directory: Path) -> bool:
    """Whether a job began and did not come to say how it ended."""
    outcome = directory / OUTCOME
    return outcome.exists() and json.loads(outcome.read_text())["error"] == KILLED


def read_ends(sweep: Path) -> list[JobEnd]:
    """How the jobs of a sweep ended; one that wrote nothing was killed."""
    ends = []
    for directory in sorted(sweep.glob("[0-9]*"), key=lambda path: int(path.name)):
        outcome = directory / OUTCOME
        if outcome.exists():
            ends.append(JobEnd(**json.loads(outcome.read_text())))
        else:
            ends.append(JobEnd([f"job {directory.name}"], 1, KILLED))
    return ends


def conclude(ends: list[JobEnd]) -> int:
    """Name the jobs of a sweep that failed; all is well only if none did."""
    failed = [end for end in ends if end.exit_code]
    results = sorted({end.result for end in ends if end.result})
    if summary := summarise_results([Path(result) for result in results]):
        print(f"\n{summary}")
    print(f"\n{len(ends) - len(failed)} of {len(ends)} jobs done")
    for end in failed:
        print(f"  failed: {' '.join(end.overrides)}\n    {end.error}")
    if any(end.exit_code == InterruptedRunError.exit_code for end in failed):
        return InterruptedRunError.exit_code
    return 1 if failed else 0


def summarise_results(results: list[Path]) -> str:
    """The runs' scores and the fine-tuned models' perplexities, whatever the jobs made."""
    from elmo_bench.records import read_model_record, read_record
    from elmo_bench.report.perplexities import summarise_perplexities
    from elmo_bench.report.summary import summarise

    kinds = {result: json.loads(result.read_bytes())["kind"] for result in results}
    models = [read_model_record(path) for path, kind in kinds.items() if kind == "bilm"]
    runs = [read_record(path) for path, kind in kinds.items() if kind == "run"]
    parts = [summarise(runs), summarise_perplexities([model for model in models if model])]
    return "\n\n".join(filter(None, parts))
