"""Pre-train a biLM: python pretrain.py bilm=small corpus=DIR (python pretrain.py --help for more)."""

import sys
from pathlib import Path

from elmo_bench.runner.launch import launch


def pretrain(values: dict[str, object]) -> Path:
    """Import what training needs only when there is something to train."""
    from elmo_bench.runner.pretraining import pretrain_one

    return pretrain_one(values)


if __name__ == "__main__":
    sys.exit(launch(Path(__file__).resolve().parent / "conf", "pretrain", sys.argv[1:], pretrain))
