"""`python run.py` and `elmo-bench run`: one run, a sweep or an experiment."""

from __future__ import annotations

from elmo_bench.commands import name_commands
from elmo_bench.sweep.scripts import launch_runs

USAGE = """One run: NER with ELMo on the built-in data, its baseline, a sweep, a real corpus.

  python run.py task=ner elmo.lambda=0.001               NER with ELMo on the built-in data
  python run.py task=ner elmo=none                       its baseline
  python run.py -m task=ner elmo=none,paper seed=1,2,3   a sweep of six runs
  python run.py -m +experiment=table1 plan=true          list the runs of the paper's Table 1 and the hours
  python run.py -m +experiment=table1                    run those that are missing
  python run.py task=ner data=open                       on a real corpus
  python run.py task=ner debug=fast                      does it run at all?
  python run.py task=ner --cfg job                       every value that would be used
  python -m elmo_bench --help                            scores, embeddings, reports

Groups, and the choices of each (elmo=none, data=open, ...):
"""


def launch(words: list[str]) -> int:
    """Start the run or sweep; Hydra parses the arguments."""
    return launch_runs(name_commands(USAGE), words)
