"""The packages of the extra `transformers`: imported when an encoder needs them, and kept quiet."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from elmo_bench.extras import import_extra, require_extra

Package = Literal["transformers", "tokenizers", "huggingface_hub"]
PURPOSE = "this encoder"
LOGGERS = ("transformers", "huggingface_hub")


def import_package(name: Package) -> Any:
    """A package of the extra."""
    return import_extra(name, PURPOSE)


def require_packages() -> None:
    """Refuse an encoder whose package is not installed; nothing is imported."""
    require_extra("transformers", PURPOSE)


@contextmanager
def quiet() -> Iterator[None]:
    """No logs, warnings and progress bars of these packages; what goes wrong is an error of ours."""
    transformers, hub = (import_package(name).utils for name in ("transformers", "huggingface_hub"))
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    bars = transformers.logging.is_progress_bar_enabled(), not hub.are_progress_bars_disabled()
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        transformers.logging.disable_progress_bar()
        hub.disable_progress_bars()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars[0]:
            transformers.logging.enable_progress_bar()
        if bars[1]:
            hub.enable_progress_bars()
