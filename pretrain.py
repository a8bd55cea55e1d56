"""Train the language model behind ELMo; `python pretrain.py --help` explains."""

import sys

from elmo_bench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["pretrain", *sys.argv[1:]]))
