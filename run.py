"""One run or a sweep: python run.py task=ner elmo.lambda=0.001 (python run.py --help for more)."""

import sys
from pathlib import Path

from elmo_bench.runner.launch import launch

if __name__ == "__main__":
    sys.exit(launch(Path(__file__).resolve().parent / "conf", "config", sys.argv[1:]))
