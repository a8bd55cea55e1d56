"""`python -m elmo_bench scale`: what the paper's sizes would cost on this machine."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_bench.cli.overrides import take_overrides
from elmo_bench.config import read_config
from elmo_bench.files import nearest_directory
from elmo_bench.types import DataMissingError, UsageError, log_to_stderr

if TYPE_CHECKING:
    from elmo_bench.bilm.settings import BilmConfig
    from elmo_bench.runs.scale import Numbering, Training

HELP = """memory, disk and hours of the paper's sizes on this machine

Rates and memory are measured in a minute of one processor with up to 12 GB; the rest is multiplied: numbering
the One Billion Word text, pre-training on it, storing the layers of the six corpora. The last line says what
breaks first: the largest need compared with what the machine has."""
EXAMPLE = "python -m elmo_bench scale\n  python -m elmo_bench scale bilm=medium --processes 8"
DEFAULTS = ("bilm=original", "corpus=.")  # the corpus is not read
GIB = 2**30
HOURS = 3600.0
PATIENCE = 30 * 24 * HOURS  # the longest training that somebody may wait for


@dataclass(frozen=True)
class Need:
    """One thing that is needed of something that is limited."""

    what: str
    amount: float
    limit: float
    unit: str
    size: float = 1.0  # of the unit

    @property
    def share(self) -> float:
        """The amount as a part of the limit; above 1 it is more than there is."""
        return self.amount / self.limit

    def __str__(self) -> str:
        amount, limit = (f"{value / self.size:,.1f} {self.unit}" for value in (self.amount, self.limit))
        return f"{self.what:46} {amount:>16} of {limit:>14}  {100 * self.share:8.0f} %"


def configure(parser: argparse.ArgumentParser) -> None:
    """The processes; bilm=NAME is another biLM, and paths.cache=DIR the disk that is measured."""
    take_overrides(parser)
    parser.add_argument(
        "--text",
        type=Path,
        metavar="FILE",
        help="tokenised sentences to train on; generated ones have more different words than English",
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        metavar="N",
        help="number that train together; the exchange of gradients is not counted (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Measure, multiply and print."""
    if arguments.processes < 1:
        raise UsageError(f"--processes {arguments.processes}: expected a positive number")
    if arguments.text is not None and not arguments.text.is_file():
        raise DataMissingError(f"{arguments.text}: no such file (--text)")
    from elmo_bench.bilm.settings import BilmConfig
    from elmo_bench.config import PathsConfig
    from elmo_bench.runs.scale import measure_numbering, measure_training, read_text
    from elmo_bench.sweep.compose import compose

    values = compose(arguments.overrides, "pretrain", DEFAULTS)
    config = read_config(BilmConfig, values["bilm"], "bilm")
    cache = read_config(PathsConfig, values["paths"], "paths").cache
    numbering = measure_numbering(cache / "scale", log_to_stderr)
    training = measure_training(config, read_text(arguments.text), log_to_stderr)
    print(describe_rates(numbering, training))
    disk = shutil.disk_usage(nearest_directory(cache)).free
    needs = list(find_needs(numbering, training, config, arguments.processes, disk))
    print("\n".join(map(str, needs)))
    print(f"first to break: {max(needs, key=lambda need: need.share).what}")


def describe_rates(numbering: Numbering, training: Training) -> str:
    """The measured figures that all others are made of."""
    memory = numbering.memory
    return (
        f"measured: numbering {numbering.tokens_per_second / 1e6:.1f} M tokens/s, "
        f"{memory.per_type:.0f} bytes a type, {memory.per_sentence:.0f} bytes a sentence; "
        f"a step {training.seconds_fixed:.2f} s and {1000 * training.seconds_per_token:.2f} ms a token, "
        f"{training.bytes_per_token / 1e6:.2f} MB a token, products in {training.products}"
    )


def find_needs(
    numbering: Numbering, training: Training, config: BilmConfig, processes: int, disk: float
) -> Iterator[Need]:
    """Everything of limited supply, in the order of a study."""
    from elmo_bench.runs.scale import ONE_BILLION, store_bytes

    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    text, batches = ONE_BILLION, config.batches
    tokens = batches.rows * batches.window if batches.kind == "streams" else batches.tokens
    seconds = text.tokens / numbering.tokens_per_second
    yield Need("numbering the One Billion Word text: time", seconds, PATIENCE, "h", HOURS)
    yield Need("numbering it: memory", numbering.memory.of(text), memory, "GiB", GIB)
    yield Need("numbering it: disk", numbering.disk(text), disk, "GiB", GIB)
    steps = (config.epochs or 1) * text.tokens / tokens
    share = tokens / processes
    yield Need(
        f"pre-training {config.name}, {config.epochs or 1:g} epochs: time",
        steps * training.step_seconds(share),
        PATIENCE,
        "h",
        HOURS,
    )
    needed = training.memory(config, share) + numbering.kept.of(text)
    yield Need("pre-training: memory of a process", needed, memory, "GiB", GIB)
    sizes: Mapping[str, float] = store_bytes(config.architecture)
    for name, size in sizes.items():
        yield Need(f"store of {name}: disk", size, disk, "GiB", GIB)
    yield Need("store of all six: disk", sum(sizes.values()), disk, "GiB", GIB)
