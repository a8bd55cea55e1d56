"""Which kind of jobs a command line of run.py means: an experiment's file may name another than runs."""

from __future__ import annotations

from omegaconf import OmegaConf

from elmo_bench.runner.entry import place_run, run_one
from elmo_bench.runner.explanation import CONF
from elmo_bench.runner.finetuning import finetune_one, place_finetuning
from elmo_bench.runner.launch import Entry, launch

CHOICE = "+experiment="
# The size is chosen by the task, of which a sweep may have many.
RUNS = Entry("config", run_one, place_run, stand_ins=("size=paper",))
FINETUNINGS = Entry("finetune", finetune_one, place_finetuning)
ENTRIES = {entry.name: entry for entry in (RUNS, FINETUNINGS)}


def launch_runs(usage: str, arguments: list[str]) -> int:
    """Do a run, a sweep, or the jobs of an experiment."""
    return launch(find_entry(arguments), usage, arguments)


def find_entry(arguments: list[str]) -> Entry:
    """What the experiment on the command line is made of; runs, where it does not say."""
    names = [argument.removeprefix(CHOICE) for argument in arguments if argument.startswith(CHOICE)]
    path = CONF / "experiment" / f"{names[-1]}.yaml" if names else CONF
    if not path.is_file():
        return RUNS  # Hydra will say what there is
    return ENTRIES[str(OmegaConf.select(OmegaConf.load(path), "hydra.sweeper.entry", default=RUNS.name))]
