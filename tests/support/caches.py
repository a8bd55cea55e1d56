"""What the first run of a machine makes, made once per session of tests and copied by each of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from elmo_bench import sources
from elmo_bench.encoders.find import find_encoder
from tests.support.composition import run_config


def make_world(root: Path) -> None:
    """The generated world, in `root`/cache."""
    config = run_config("task=ner", root=root)
    sources.prepare(config.task, config.data, config.paths, lambda message: None)


def make_sample_model(root: Path) -> None:
    """The sample biLM in its smallest size, as `bilm@encoder.bilm=tiny` has it."""
    config = run_config("task=ner", "bilm@encoder.bilm=tiny", "trainer.threads=1", root=root)
    find_encoder(config.encoder, config.paths, config.trainer, lambda message: None)


def copy_cache(made: Path, root: Path) -> Path:
    """Give `root` a cache of its own with what another has."""
    shutil.copytree(made / "cache", root / "cache")
    return root
