"""The packages of the extras: imported where used; where one is absent, the command that installs it."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from elmo_bench.commands import spell_install
from elmo_bench.types import PackageMissingError

EXTRAS: Mapping[str, tuple[str, ...]] = {  # of pyproject.toml, with the packages that are imported of each
    "hub": ("datasets",),
    "wandb": ("wandb",),
    "tensorboard": ("tensorboard",),
    "dashboard": ("wandb_workspaces",),
    "transformers": ("transformers", "tokenizers", "huggingface_hub"),
    "figures": ("matplotlib",),
    "pandas": ("pandas",),
    "check": ("seqeval", "sklearn"),
    "parallel": ("hydra_plugins.hydra_joblib_launcher",),
    "slurm": ("hydra_plugins.hydra_submitit_launcher",),
}


def import_extra(module: str, purpose: str, otherwise: str = "") -> Any:
    """A module of an extra; `purpose` is what needs it, `otherwise` what to do without it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _refusal(module, purpose, otherwise, str(error)) from error


def require_extra(module: str, purpose: str, otherwise: str = "") -> None:
    """Refuse what needs a module that is not installed, before any work and without importing it."""
    if not is_installed(module):
        raise _refusal(module, purpose, otherwise, "not installed")


def is_installed(module: str) -> bool:
    """Whether a module can be found; it is not imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def _refusal(module: str, purpose: str, otherwise: str, reason: str) -> PackageMissingError:
    extra, package = next(
        (extra, package)
        for extra, packages in EXTRAS.items()
        for package in packages
        if f"{module}.".startswith(f"{package}.")
    )
    remedies = "; ".join(filter(None, [spell_install(extra), otherwise]))
    (line, *_) = reason.splitlines() or ["cannot be imported"]
    return PackageMissingError(f"{purpose} needs the package {package} ({line}): {remedies}")
