"""Every model under paths.models as a choice of the group encoder, beside the files of conf/encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydra.core.config_store import ConfigStore

from elmo_bench.catalog import CONF

OPTIONS_FILE = "options.json"  # what makes a directory a model
PLACE = "paths.models="
USUAL_PLACE = "results/models"  # as conf/machine.yaml says


def offer_models(arguments: Sequence[str]) -> None:
    """Let encoder=NAME stand for the directory NAME under paths.models, where no file of that name does."""
    places = [argument.removeprefix(PLACE) for argument in arguments if argument.startswith(PLACE)]
    for options in sorted(Path((places or [USUAL_PLACE])[-1]).glob(f"*/{OPTIONS_FILE}")):
        name = options.parent.name
        if not (CONF / "encoder" / f"{name}.yaml").exists():
            directory = f"${{paths.models}}/{name}"
            node = {
                "name": name,
                "plugin": "elmo_bench.encoders.bilm.DirectoryBilm",
                "directory": directory,
                "precision": "float32",
            }
            ConfigStore.instance().store(name, node, group="encoder", provider=PLACE)
