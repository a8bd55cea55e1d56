"""`python run.py` and `elmo-bench run`: one run, a sweep or an experiment."""

from __future__ import annotations

from elmo_bench.commands import name_commands
from elmo_bench.sweep.scripts import launch_runs

USAGE = """Train and score one run, a sweep of runs, or an experiment of the paper.

  python run.py task=ner elmo.lambda=0.001               NER with ELMo on the built-in data
  python run.py task=ner elmo=none                       its baseline
  python run.py -m task=ner elmo=none,paper seed=1,2,3   a sweep of six runs
  python run.py -m +experiment=table1 plan=true          list the runs of the paper's Table 1 and the hours
  python run.py -m +experiment=table1                    run those that are missing
  python run.py task=ner data=open                       on a real corpus
  python run.py task=ner debug=fast                      a trial run: 60 examples, two epochs
  python run.py task=ner --cfg job                       every value that would be used
  python -m elmo_bench --help                            scores, embeddings, reports

A word GROUP=CHOICE takes a file of conf, a word KEY=VALUE sets one value; with -m both may be several.
--config-dir DIR adds your own tasks, encoders, corpora and experiments.
Exit codes: 0 done, 1 failed, 2 usage, 3 data or a package missing, 130 interrupted.

Groups, and the choices of each (elmo=none, data=open, ...):
"""


def launch(words: list[str]) -> int:
    """Start the run or sweep; Hydra parses the arguments."""
    return launch_runs(name_commands(USAGE), words)
