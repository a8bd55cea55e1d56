"""`python pretrain.py` and `elmo-bench pretrain`: train a biLM, or continue one on the text of a task."""

from __future__ import annotations

from elmo_bench.commands import name_commands
from elmo_bench.sweep.scripts import launch_training

USAGE = """Train a biLM, the language model behind ELMo, or continue one on the text of a task.

  python pretrain.py bilm=small corpus=DIR                       from random weights, to results/models/small
  python pretrain.py bilm=small corpus=DIR limits.minutes=60     for an hour; the same command resumes it
  python pretrain.py bilm=small corpus=DIR start=DIR name=more   from the weights and softmax of another model
  python pretrain.py encoder=small finetune=ner data=open        from an encoder, on a task's own text
  python pretrain.py bilm=small corpus=DIR --cfg job             every value that would be used

A word GROUP=CHOICE takes a file of conf, a word KEY=VALUE sets one value.
Exit codes: 0 done, 1 failed, 2 usage, 3 data or a package missing, 130 interrupted.

Groups, and the choices of each (bilm=small, trainer=gpu, ...):
"""


def launch(words: list[str]) -> int:
    """Start the training; Hydra parses the arguments."""
    return launch_training(name_commands(USAGE), words)
