"""`python -m elmo_bench track`: send finished runs to Weights & Biases."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmo_bench.cli.overrides import read_paths, take_overrides

HELP = """send finished runs to Weights & Biases

RUN is the directory of a finished run, or a published record. What is sent is what tracking=wandb sends while
a run trains, but for the usage of processor and memory. A run that is sent again replaces itself. Without a
key (wandb login) the runs are kept offline, and `wandb sync` sends them later."""
EXAMPLE = """python -m elmo_bench track results/runs/ner/0123abcd4567-s1
  python -m elmo_bench track results/records/ner/*.json --project elmo_bench"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The runs and where to send them."""
    take_overrides(parser)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--project", default="elmo_bench", help="the W&B project (default: %(default)s)")


def run(arguments: argparse.Namespace) -> None:
    """Send every run, from its beginning to its end."""
    from elmo_bench.config import TrackingConfig
    from elmo_bench.runs.replaying import read_finished, replay
    from elmo_bench.runs.tracking import WandbTracker, require_tracker
    from elmo_bench.types import log_to_stderr

    paths = read_paths(arguments)
    config = TrackingConfig(kind="wandb", project=arguments.project)
    require_tracker(config)
    for place in arguments.runs:
        finished = read_finished(place, paths)
        replay(finished, WandbTracker(config, finished.directory, log_to_stderr))
        print(f"{place}: tracked")
