"""One run: NER with ELMo on the built-in data, its baseline, a sweep, a real corpus.

  python run.py task=ner elmo.lambda=0.001               NER with ELMo on the built-in data
  python run.py task=ner elmo=none                       its baseline
  python run.py -m task=ner elmo=none,paper seed=1,2,3   a sweep of six runs
  python run.py -m +experiment=table1 plan=true          what the paper's Table 1 needs, and the hours
  python run.py -m +experiment=table1                    run what of it is missing
  python run.py task=ner data=open                       on a real corpus
  python run.py task=ner debug=fast                      does it run at all?
  python run.py task=ner --cfg job                       every value that would be used
  python -m elmo_bench --help                            scores, embeddings, reports

Groups, and the choices of each (elmo=none, data=open, ...):
"""

import sys

from elmo_bench.sweep.scripts import launch_runs

if __name__ == "__main__":
    sys.exit(launch_runs(__doc__, sys.argv[1:]))
