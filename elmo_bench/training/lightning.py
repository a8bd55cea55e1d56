"""PyTorch Lightning, imported without every metric of torchmetrics and without the compiler of PyTorch.

Lightning needs the class of a metric. The body of `torchmetrics` imports all metrics, with them SciPy and,
where it is installed, transformers. Lightning and the optimisers need three names of `torch._dynamo`, which
imports all of `torch.compile`. Both packages are put off: their bodies are executed when somebody asks for
another name. They are the real packages: the task of a user can use torchmetrics and `torch.compile`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import torch

NEEDED = {  # names that Lightning reads, with their modules; in this order no import is circular
    "utilities": "utilities",
    "__version__": "__about__",
    "Metric": "metric",
    "MetricCollection": "collections",
}


class _BodyFirst(MetaPathFinder, Loader):
    """Executes the body of a package before one of its modules is imported, in the order that it expects."""

    def __init__(self, package: ModuleType, execute_body: Callable[[], None]) -> None:
        self.package = package
        self.execute_body = execute_body
        self.specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if not name.startswith(f"{self.package.__name__}."):
            return None
        self.execute_body()
        module = sys.modules.get(name)
        if module is None:
            return None
        # The body has imported the module that is being looked for: it is handed over, not executed again.
        self.specs[name], module.__spec__ = module.__spec__, ModuleSpec(name, self)
        return module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.specs.pop(module.__name__)


def put_off(package: str, needed: Mapping[str, str], **made: Any) -> None:
    """Execute a package's body when a name or module is asked for that is neither needed nor made here."""
    spec = None if package in sys.modules else find_spec(package)
    if spec is None or spec.loader is None:
        return
    loader, module = spec.loader, module_from_spec(spec)

    def execute_body() -> None:
        sys.meta_path.remove(body_first)
        del module.__getattr__
        loader.exec_module(module)

    def find_name(name: str) -> Any:
        if name.startswith("__"):  # asked of every module by tools that look through all of them
            raise AttributeError(name)
        execute_body()
        return getattr(module, name)

    body_first = _BodyFirst(module, execute_body)
    vars(module).update(__getattr__=find_name, **made)
    sys.modules[package] = module
    parent, _, own_name = package.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own_name, module)
    try:
        for name, place in needed.items():
            found = import_module(f"{package}.{place}")
            vars(module)[name] = getattr(found, name, found)
    except ImportError:  # another version of the package: it is imported as always
        for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
            del sys.modules[name]
    else:
        sys.meta_path.insert(0, body_first)


class _MadeByCompile(type):
    """The type of `CompiledModule`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        compiler = sys.modules.get("torch._dynamo.eval_frame")  # imported by torch.compile
        return compiler is not None and isinstance(instance, compiler.OptimizedModule)


class CompiledModule(torch.nn.Module, metaclass=_MadeByCompile):
    """What torch.compile makes of a module, for `isinstance`."""


def do_not_compile(function: Any, *_: Any, **__: Any) -> Any:
    """Keep torch.compile from a function; before torch.compile is imported there is nothing to do."""
    return function


def end_compiled_part() -> None:
    """Let torch.compile begin anew; before torch.compile is imported there is nothing to do."""


put_off("torchmetrics", NEEDED, _logger=logging.getLogger("torchmetrics"))
put_off(
    "torch._dynamo", {}, OptimizedModule=CompiledModule, disable=do_not_compile, graph_break=end_compiled_part
)

import pytorch_lightning as pl  # noqa: E402

__all__ = ["pl"]
