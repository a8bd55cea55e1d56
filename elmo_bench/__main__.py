"""python -m elmo_bench COMMAND ..."""

import sys

from elmo_bench.cli.main import start

if __name__ == "__main__":
    sys.exit(start())
