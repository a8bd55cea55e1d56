"""python -m elmo_bench COMMAND ..."""

import sys

from elmo_bench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
