"""Which jobs are launched, and what a plan says."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from elmo_bench.hashing import hash_file, hash_files, hash_value
from elmo_bench.records import Record, write_record
from elmo_bench.report.power import seeds_for
from elmo_bench.sweep import gpus as slots
from elmo_bench.sweep import outcomes
from elmo_bench.sweep.outcomes import KILLED, Expected, JobEnd, SweepStart, launch_all, read_ends, write_end
from elmo_bench.sweep.plan import (
    Plan,
    PlannedJob,
    Target,
    describe_plan,
    estimate_seconds,
    plan_jobs,
    read_times,
)
from elmo_bench.sweep.runs import locate_run
from elmo_bench.sweep.seeds import describe_seeds
from elmo_bench.types import DataMissingError
from tests.support.composition import run_config
from tests.support.report_records import ELMO, NONE, make_record


def place(overrides: list[str]) -> Target:
    kind, key = overrides
    if kind == "broken":
        raise DataMissingError("no such file")
    seconds = {"short": 30.0, "long": 7200.0}.get(kind)
    return Target(key, Path(f"{key}.json"), kind == "done", f"task {kind}", seconds)


def test_a_plan_lists_every_run_once_and_adds_the_hours() -> None:
    jobs = [["short", "a"], ["done", "b"], ["long", "c"], ["odd", "d"], ["short", "c"], ["broken", "e"]]
    plan = plan_jobs(jobs, place)
    assert [job.overrides[1] for job in plan.missing] == ["a", "c", "d"]
    assert describe_plan(plan).splitlines() == [
        "  missing, ~30 s         short a",
        "  done                   done b",
        "  missing, ~2.0 h        long c",
        "  missing, time unknown  odd d",
        "  cannot run             broken e  (no such file)",
        "5 runs: 1 done, 3 missing, 1 cannot run, 1 duplicate(s) dropped",
        "estimated: 2.01 hours in sequence, for 2 of the missing runs",
        "time unknown, because no similar run is recorded yet: 1 of task odd",
    ]
    assert [job.end() for job in (*plan.done, *plan.broken)] == [
        JobEnd(["done", "b"], 0, "", "b.json"),
        JobEnd(["broken", "e"], 3, "no such file"),
    ]


def test_two_different_jobs_for_one_record_are_never_one() -> None:
    def locate(overrides: list[str]) -> Target:
        (seed,) = overrides
        return Target(seed, Path("models/mine/record.json"), False, "pre-training", None)

    plan = plan_jobs([["seed=1"], ["seed=2"], ["seed=1"]], locate)
    assert ([job.overrides for job in plan.missing], plan.repeated) == ([["seed=1"]], 1)
    (refused,) = plan.broken
    assert refused.overrides == ["seed=2"] and "with other settings writes it too" in str(refused.error)


def test_a_plan_does_not_describe_jobs_by_the_word_that_asks_for_it() -> None:
    words = ["plan=true", "+plan=1", "++plan=yes"]
    single = plan_jobs([["short", "a"]], place)
    jobs = tuple(replace(job, overrides=[*job.overrides, *words]) for job in single.jobs)
    asked = replace(single, jobs=jobs)
    assert describe_plan(asked) == describe_plan(single)


def test_hours_come_from_runs_of_the_same_kind(tmp_path: Path) -> None:
    def record(name: str, seconds: float, *overrides: str) -> None:
        config = run_config("task=ner", *overrides, root=tmp_path).model_dump(mode="json", by_alias=True)
        path = tmp_path / "runs" / "ner" / name / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"config": config, "seconds": {"fitting": seconds, "evaluating": 1.0}}))

    record("one", 9.0, "elmo=none")
    record("two", 11.0, "elmo=none", "seed=2")
    record("three", 59.0)
    (tmp_path / "records" / "ner").mkdir(parents=True)
    (tmp_path / "records" / "ner" / "damaged.json").write_text("{")
    read_times.cache_clear()
    assert estimate_seconds(run_config("task=ner", "elmo=none", "seed=3", root=tmp_path)) == 11.0
    assert estimate_seconds(run_config("task=ner", "elmo=last", root=tmp_path)) == 60.0
    assert estimate_seconds(run_config("task=ner", "data.fraction=0.5", root=tmp_path)) is None
    assert estimate_seconds(run_config("task=srl", root=tmp_path)) is None


def test_a_file_is_hashed_again_only_when_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    assert hash_files([path]) == hash_value([hash_file(path)])
    first = hash_files([path])
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))  # of the same length, at another time
    assert hash_files([path]) == hash_value([hash_file(path)]) != first


def fail_to_wait(job: list[str]) -> None:
    raise AssertionError(f"{job} is executed by no other process")


def test_a_job_of_another_process_comes_again_after_the_others(tmp_path: Path) -> None:
    told: list[str] = []
    busy = {"first", "second"}

    def launch(jobs: list[list[str]], first: int) -> None:
        for number, (name,) in enumerate(jobs, first):
            told.append(name)
            write_end(tmp_path / str(number), JobEnd([name], 0, "", is_busy=name in busy))

    def wait_for(job: list[str]) -> None:
        told.append(f"waiting for {job[0]}")
        busy.discard("first")
        if told.count("second") > 1:  # a third process took it in the meantime
            busy.discard("second")

    launch_all([["first"], ["free"], ["second"]], tmp_path, launch, wait_for)
    waiting = ["waiting for first", "waiting for second"]
    assert told == ["first", "free", "second", *waiting, "first", "second", waiting[1], "second"]
    ends = read_ends(tmp_path)
    assert sorted(end.overrides[0] for end in ends) == ["first", "free", "second"]
    assert not any(end.is_busy for end in ends)


def test_what_a_dying_process_took_along_is_started_once_more(tmp_path: Path) -> None:
    launched = []

    def launch(jobs: list[list[str]], first: int) -> None:
        for number, job in enumerate(jobs, first):
            launched.append((number, *job))
            write_end(tmp_path / str(number), JobEnd(job, 1, KILLED))  # as every job does when it begins
            if job == ["deadly"]:
                raise RuntimeError("a worker process was terminated")
            write_end(tmp_path / str(number), JobEnd(job, 0, ""))

    write_end(tmp_path / "3", JobEnd(["done already"], 0, ""))
    launch_all([["one"], ["deadly"], ["two"]], tmp_path, launch, fail_to_wait)
    assert launched == [(0, "one"), (1, "deadly"), (4, "two"), (5, "deadly")]
    ends = {end.overrides[0]: end for end in read_ends(tmp_path)}
    assert {name: end.exit_code for name, end in ends.items()} == {
        "one": 0,
        "done already": 0,
        "two": 0,
        "deadly": 1,
    }
    assert ends["deadly"].error == "killed before it could report a reason"


def test_a_launcher_that_starts_nothing_is_not_asked_for_ever(tmp_path: Path) -> None:
    def launch(jobs: list[list[str]], first: int) -> None:
        raise RuntimeError("no such partition")

    launch_all([["one"], ["two"]], tmp_path, launch, fail_to_wait)
    assert [end.error for end in read_ends(tmp_path)] == ["could not be launched: no such partition"] * 2


def test_a_sweep_says_how_far_it_is_and_when_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes.time, "time", lambda: 1000.0)
    monkeypatch.setattr(outcomes.time, "localtime", time.gmtime)
    missing = {(name,): Expected("ner", None) for name in "abcde"}
    missing |= {("f",): Expected("squad", 700.0), ("g",): Expected("pos", None)}
    start = SweepStart(8, 380.0, missing)
    write_end(tmp_path / "0", JobEnd(["done earlier"], 0, ""))
    write_end(tmp_path / "1", JobEnd(["a"], 1, "no such file", seconds=20))
    assert start.describe(tmp_path) == "2 of 8 jobs ended, 1 failed"
    write_end(tmp_path / "2", JobEnd(["b"], 0, "", seconds=480))  # made a biLM first
    write_end(tmp_path / "3", JobEnd(["c"], 0, "", seconds=120))
    write_end(tmp_path / "4", JobEnd(["d"], 1, KILLED))  # runs
    write_end(tmp_path / "5", JobEnd(["e"], 1, "", is_busy=True))
    # d and e take 120 s as c did, f what it took earlier, g what jobs usually take: 1060 s in sequence.
    far = "4 of 8 jobs ended, 1 failed; the other 4 take about"
    assert start.describe(tmp_path) == f"{far} 18 min, until Thu 00:34"
    two_at_a_time = replace(start, time=690.0)
    assert two_at_a_time.describe(tmp_path) == f"{far} 9 min, until Thu 00:25"
    for number, name in enumerate("defg", 4):
        write_end(tmp_path / str(number), JobEnd([name], 0, "", seconds=1))
    assert start.describe(tmp_path) == "8 of 8 jobs ended, 1 failed"


def test_a_published_record_of_the_same_run_is_done(tmp_path: Path) -> None:
    config = run_config("task=ner", "elmo=none", "limit=5", root=tmp_path)
    target = locate_run(config)
    assert (target.done, target.published) == (False, False)
    published = config.paths.records / "ner" / f"{Path(target.key).name}.json"
    write_record(published, make_record("ner", 1, 20, NONE))
    found = locate_run(config)
    assert (found.done, found.published, found.record) == (True, True, published)
    repeated = locate_run(run_config("task=ner", "elmo=none", "limit=5", "force=true", root=tmp_path))
    assert (repeated.done, repeated.published, repeated.key) == (False, False, target.key)
    plan = Plan((PlannedJob(["task=ner"], found),), 0)
    assert describe_plan(plan).splitlines() == [
        "  published              task=ner",
        "1 runs: 1 done (1 published), 0 missing",
        "a sweep does not repeat published runs; force=true does",
    ]


def test_each_process_of_a_sweep_has_a_gpu_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_new_process() -> None:
        monkeypatch.setenv(slots.VISIBLE, "2,5")
        monkeypatch.setattr(slots, "_held", [])

    processes = []
    for job in (0, 0, 1):
        as_new_process()
        chosen = slots.take_gpu(job, tmp_path)
        assert os.environ[slots.VISIBLE] == chosen
        assert slots.take_gpu(job + 1, tmp_path) == chosen  # kept for the jobs that follow
        processes.append((chosen, slots._held))
    assert [chosen for chosen, _ in processes] == ["2", "5", "5"]  # more processes than GPUs: by number
    for _, held in processes:
        for lock in held:
            lock.release()
    monkeypatch.setenv(slots.VISIBLE, "")
    monkeypatch.setattr(slots, "_held", [])
    assert slots.take_gpu(0, tmp_path) is None


def plan_finished(directory: Path, records: list[Record]) -> list[PlannedJob]:
    """The jobs of runs that are done."""
    done = []
    for record in records:
        path = directory / f"{record.condition}-s{record.seed}" / "result.json"
        write_record(path, record)
        done.append(PlannedJob([], Target(str(path.parent), path, True, record.task, None)))
    return done


def test_a_plan_says_how_many_seeds_a_gain_needs(tmp_path: Path) -> None:
    records = [
        make_record("ner", seed, right, elmo)
        for elmo, rights in ((NONE, (20, 22, 21)), (ELMO, (24, 27, 25)))
        for seed, right in enumerate(rights, start=1)
    ]
    done = plan_finished(tmp_path, records)
    fourth = tmp_path / f"{records[-1].condition}-s4" / "result.json"
    plan = Plan((*done, PlannedJob([], Target(str(fourth.parent), fourth, False, "ner", None))), 0)
    (line,) = describe_seeds(plan)
    # Gains of 10, 12.5 and 10 points: a mean of 10.83 with a deviation of 1.44.
    assert line.startswith(
        "seeds: ner, ELMo (sample) at input, all layers, lambda 0.1: 4 seeds show a gain of "
    )
    needed = seeds_for(32.5 / 3, 2.5 / 3**0.5)
    assert line.endswith(f"a gain of 10.83 needs {needed} seeds (by the spread over seeds alone)")
    assert describe_seeds(Plan(tuple(done[:3]), 0)) == []


def test_a_plan_says_nothing_of_seeds_that_change_nothing(tmp_path: Path) -> None:
    records = [
        make_record("wsd", seed, right, elmo, stopped="one pass")
        for elmo, right in ((NONE, 20), (ELMO, 24))
        for seed in (1, 2)
    ]
    assert describe_seeds(Plan(tuple(plan_finished(tmp_path, records)), 0)) == []
