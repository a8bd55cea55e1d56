"""The two scripts, run.py and pretrain.py: which kinds of jobs each has."""

from __future__ import annotations

from collections.abc import Sequence

from elmo_bench.sweep.launch import Script, launch

# Modules with a KIND, by the primary file of conf; the first is the default.
RUNS = Script(
    kinds={
        "config": "elmo_bench.sweep.runs",
        "finetune": "elmo_bench.sweep.finetuning",
        "neighbours": "elmo_bench.sweep.neighbours",
    },
    groups={
        **{name: name for name in ("task", "elmo", "encoder", "tuning", "words", "data", "size")},
        "bilm@encoder.bilm": "bilm",  # of encoder=sample
        **{name: name for name in ("trainer", "tracking", "debug")},
        "+experiment": "experiment",
        "hydra/launcher": "hydra/launcher",
    },
)
TRAININGS = Script(
    kinds={"pretrain": "elmo_bench.sweep.pretraining", "finetune": "elmo_bench.sweep.finetuning"},
    groups={
        "bilm": "bilm",
        "finetune": "task",
        **{name: name for name in ("encoder", "data", "trainer", "hydra/launcher")},
    },
    selected_by={"finetune": ("finetune", "task")},
)


def launch_runs(usage: str, words: Sequence[str]) -> int:
    """Execute a run, a sweep, or the jobs of an experiment."""
    return launch(RUNS, usage, words)


def launch_training(usage: str, words: Sequence[str]) -> int:
    """Pre-train a biLM, or fine-tune one on a task's text (finetune=TASK)."""
    return launch(TRAININGS, usage, words)
