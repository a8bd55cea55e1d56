"""How the jobs of a sweep ended: a file per job, and a summary of all."""

from __future__ import annotations

import json
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_low

from hydra.errors import HydraException

from elmo_bench.files import write_atomically
from elmo_bench.training.progress import spell_time
from elmo_bench.types import InterruptedRunError

OUTCOME = "outcome.json"
CLUSTER = ".submitit"  # where submitit keeps its jobs
KILLED = "killed before it could report a reason"


@dataclass(frozen=True)
class JobEnd:
    """How one job of a sweep ended, as its process recorded it."""

    overrides: list[str]
    exit_code: int
    error: str
    result: str = ""  # the record's file
    is_busy: bool = False  # another process was executing it
    seconds: float = 0.0  # on the clock, with everything that this job was the first to need


def write_end(directory: Path, end: JobEnd) -> None:
    """Write how a job ended to its directory in the sweep."""
    write_atomically(directory / OUTCOME, json.dumps(vars(end)).encode())


@dataclass(frozen=True)
class Expected:
    """How long a job may take."""

    group: str  # jobs of one group take about as long
    seconds: float | None  # in similar earlier runs


@dataclass(frozen=True)
class SweepStart:
    """What a sweep had before it, to say how far it is."""

    jobs: int  # of the whole plan
    time: float  # seconds since 1970
    missing: Mapping[tuple[str, ...], Expected] = field(default_factory=dict)  # by the overrides of a job

    def describe(self, sweep: Path) -> str:
        """How many jobs have ended, and when the others will have."""
        ended = self.ended(sweep)
        failed = sum(end.exit_code != 0 for end in ended)
        text = f"{len(ended)} of {self.jobs} jobs ended" + (f", {failed} failed" if failed else "")
        seconds = self.estimate(ended)
        if seconds is None:
            return text
        clock = time.strftime("%a %H:%M", time.localtime(time.time() + seconds))
        left = self.jobs - len(ended)
        return f"{text}; the other {left} take about {spell_time(seconds)}, until {clock}"

    def ended(self, sweep: Path) -> list[JobEnd]:
        """How the jobs ended that have ended by now."""
        ends = [end for directory in _job_directories(sweep) if (end := _read_end(directory))]
        return [end for end in ends if end.error != KILLED and not end.is_busy]

    def estimate(self, ended: list[JobEnd]) -> float | None:
        """How long the missing jobs still take; nothing if there are none, or nothing is known.

        A job takes as long as others of its group have, the first of which may have made a biLM, too. As
        many jobs go on at a time as until now.
        """
        over = {tuple(end.overrides): end for end in ended}
        left = [expected for job, expected in self.missing.items() if job not in over]
        took = [(expected.group, over[job]) for job, expected in self.missing.items() if job in over]
        groups = defaultdict(list)
        for group, end in took:
            if end.exit_code == 0:
                groups[group].append(end.seconds)
        if not (left and groups):
            return None
        usual = {group: median_low(seconds) for group, seconds in groups.items()}
        of_all = median_low([second for seconds in groups.values() for second in seconds])
        needed = sum(usual.get(one.group) or one.seconds or of_all for one in left)
        at_a_time = sum(end.seconds for _, end in took) / (time.time() - self.time)
        return needed / at_a_time


Launch = Callable[[list[list[str]], int], object]
"""Run jobs, the first of which has the given number."""


def launch_all(
    jobs: list[list[str]], sweep: Path, launch: Launch, wait_for: Callable[[list[str]], None]
) -> None:
    """Launch jobs; those that another process is executing come again when it has ended."""
    first = 0
    while jobs:
        _launch_once(jobs, first, sweep, launch)
        jobs = _take_busy_jobs(sweep)
        first = _next_number(sweep)
        for job in jobs:
            wait_for(job)


def _take_busy_jobs(sweep: Path) -> list[list[str]]:
    """The jobs that another process was executing; their outcomes are removed."""
    jobs = []
    for directory in _job_directories(sweep):
        end = _read_end(directory)
        if end and end.is_busy:
            jobs.append(end.overrides)
            shutil.rmtree(directory)
    return jobs


def _launch_once(jobs: list[list[str]], first: int, sweep: Path, launch: Launch) -> None:
    """Launch jobs; if a launcher fails because one process died, the other jobs still run.

    On one machine the whole process pool dies with that process. Only one of the running jobs caused it,
    so each of them is retried once, after the jobs that had not started. On a cluster the other jobs
    continue, and this function waits for them.
    """
    killed_before: list[list[str]] = []
    while jobs:
        try:
            launch(jobs, first)
            return
        except HydraException:
            raise
        except Exception as error:  # the launchers' own exceptions, from packages that need not be installed
            places = [(sweep / str(number), job) for number, job in enumerate(jobs, first)]
            if wait_for_cluster(sweep / CLUSTER):
                for place, job in places:
                    if not (place / OUTCOME).exists():
                        write_end(place, JobEnd(job, 1, f"ended on the cluster before it started: {error}"))
                return
            waiting = [job for place, job in places if not (place / OUTCOME).exists()]
            killed = [(place, job) for place, job in places if was_killed(place) and job not in killed_before]
            first = _next_number(sweep)
            if not killed and len(waiting) == len(jobs):  # no job started: the launcher itself does not work
                for number, job in enumerate(jobs, first):
                    write_end(sweep / str(number), JobEnd(job, 1, f"could not be launched: {error}"))
                return
            for place, _ in killed:
                shutil.rmtree(place)
            killed_before += [job for _, job in killed]
            jobs = [*waiting, *(job for _, job in killed)]


def wait_for_cluster(folder: Path) -> bool:
    """Wait until every job that submitit submitted has ended; false if there is none."""
    sent = sorted(folder.glob("*/*_submitted.pkl"))
    if sent:
        from submitit import SlurmJob

        for path in sent:
            SlurmJob(folder=path.parent, job_id=path.name.removesuffix("_submitted.pkl")).wait()
    return bool(sent)


def was_killed(directory: Path) -> bool:
    """Whether a job started and did not record how it ended."""
    end = _read_end(directory)
    return end is not None and end.error == KILLED


def read_ends(sweep: Path) -> list[JobEnd]:
    """How the jobs of a sweep ended; one that wrote nothing was killed."""
    ends = []
    for directory in _job_directories(sweep):
        ends.append(_read_end(directory) or JobEnd([f"job {directory.name}"], 1, KILLED))
    return ends


def _read_end(directory: Path) -> JobEnd | None:
    """How the job of a directory ended, if it has recorded that."""
    outcome = directory / OUTCOME
    return JobEnd(**json.loads(outcome.read_text())) if outcome.exists() else None


def _job_directories(sweep: Path) -> list[Path]:
    return sorted(sweep.glob("[0-9]*"), key=lambda path: int(path.name))


def _next_number(sweep: Path) -> int:
    return max((int(path.name) for path in _job_directories(sweep)), default=-1) + 1


def conclude(ends: list[JobEnd]) -> int:
    """Print the failed jobs of a sweep; the exit code is 0 only if none failed."""
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
    """The scores of runs or the perplexities of fine-tuned models, depending on the jobs."""
    from elmo_bench.records import read_model_record
    from elmo_bench.report.comparison import Referee
    from elmo_bench.report.pairs import read_run
    from elmo_bench.report.perplexities import summarise_perplexities
    from elmo_bench.report.summary import summarise
    from elmo_bench.runs.scores import ScoresOnDemand

    kinds = {result: json.loads(result.read_bytes())["kind"] for result in results}
    models = [read_model_record(path) for path, kind in kinds.items() if kind == "bilm"]
    runs = [read_run(path) for path, kind in kinds.items() if kind == "run"]
    referee = Referee(ScoresOnDemand([run.record for run in runs]))
    parts = [summarise(runs, referee), summarise_perplexities([model for model in models if model])]
    return "\n\n".join(filter(None, [*parts, *(f"warning: {problem}" for problem in referee.problems)]))
