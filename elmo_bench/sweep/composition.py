"""The configuration of a command line without running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hydra
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from elmo_bench.catalog import CONF
from elmo_bench.sweep.explanation import explain_composition
from elmo_bench.sweep.launch import plain
from elmo_bench.sweep.own_models import offer_models
from elmo_bench.types import UsageError


def compose(overrides: Sequence[str], name: str = "config") -> dict[str, Any]:
    """What run.py would hand to a job for these words, or what is wrong with them."""
    offer_models(overrides)
    try:
        with hydra.initialize_config_dir(str(CONF), version_base=None):
            return plain(hydra.compose(name, list(overrides)))
    except (HydraException, OmegaConfBaseException) as error:
        message = explain_composition(error, name, list(overrides))
        raise UsageError(message.removeprefix("error: ")) from None
