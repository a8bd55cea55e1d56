"""PyTorch Lightning, imported without every metric of torchmetrics.

Lightning needs the class of a metric. The body of `torchmetrics` imports all metrics, with them SciPy and,
where it is installed, transformers: half of the time to import Lightning. It is executed when somebody asks
for a name that Lightning does not need. The module is the real one: the task of a user can use torchmetrics.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

NEEDED = {  # names that Lightning reads, with their modules; in this order no import is circular
    "utilities": "utilities",
    "__version__": "__about__",
    "Metric": "metric",
    "MetricCollection": "collections",
}


def put_off(package: str, needed: Mapping[str, str], **made: Any) -> None:
    """Execute a package's body when a name is asked for that is neither needed nor made here."""
    spec = None if package in sys.modules else find_spec(package)
    if spec is None or spec.loader is None:
        return
    loader, module = spec.loader, module_from_spec(spec)

    def execute_body(name: str) -> Any:
        if name.startswith("__"):  # asked of every module by tools that look through all of them
            raise AttributeError(name)
        vars(module).pop("__getattr__", None)
        loader.exec_module(module)
        return getattr(module, name)

    vars(module).update(__getattr__=execute_body, **made)
    sys.modules[package] = module
    try:
        for name, place in needed.items():
            found = import_module(f"{package}.{place}")
            vars(module)[name] = getattr(found, name, found)
    except ImportError:  # another version of the package: it is imported as always
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]


put_off("torchmetrics", NEEDED, _logger=logging.getLogger("torchmetrics"))

import pytorch_lightning as pl  # noqa: E402

__all__ = ["pl"]
