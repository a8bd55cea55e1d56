"""One run, a sweep or an experiment; `python run.py --help` explains."""

import sys

from elmo_bench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
