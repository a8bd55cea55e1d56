"""Which kind of jobs a command line of run.py means: an experiment's file may name another than runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elmo_bench.sweep.entry import place_run, run_one
from elmo_bench.sweep.launch import Entry, launch
from elmo_bench.sweep.overrides import read_sweeper
from elmo_bench.sweep.plan import Place


def finetune_one(values: dict[str, Any]) -> Path:
    """Imported when it is needed: it takes seconds, and runs do without it."""
    from elmo_bench.sweep import finetuning

    return finetuning.finetune_one(values)


def place_finetuning(values: dict[str, Any]) -> Place:
    from elmo_bench.sweep import finetuning

    return finetuning.place_finetuning(values)


def answer_neighbours(values: dict[str, Any]) -> Path:
    from elmo_bench.sweep import neighbours

    return neighbours.answer_one(values)


def place_neighbours(values: dict[str, Any]) -> Place:
    from elmo_bench.sweep import neighbours

    return neighbours.place_answer(values)


RUNS = Entry("config", run_one, place_run)
FINETUNINGS = Entry("finetune", finetune_one, place_finetuning)
NEIGHBOURS = Entry("neighbours", answer_neighbours, place_neighbours)
ENTRIES = {entry.name: entry for entry in (RUNS, FINETUNINGS, NEIGHBOURS)}


def launch_runs(usage: str, arguments: list[str]) -> int:
    """Do a run, a sweep, or the jobs of an experiment."""
    return launch(find_entry(arguments), usage, arguments)


def find_entry(arguments: list[str]) -> Entry:
    """What the experiment on the command line is made of; runs, where it does not say."""
    return ENTRIES[read_sweeper(arguments).get("entry", RUNS.name)]
