"""Lightning is imported without all of torchmetrics and without torch.compile, which a task can still use."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from elmo_bench.training.lightning import put_off
from tests.conftest import PROJECT

METRICS = """
import sys
import elmo_bench.runs.execution, elmo_bench.bilm.training.pretraining
print([name for name in ("torchmetrics.functional", "transformers", "scipy.signal") if name in sys.modules])
from torchmetrics import Accuracy
import torch, torchmetrics
metric = Accuracy(task="binary")
assert isinstance(metric, torchmetrics.Metric)
print(metric(torch.tensor([1, 0]), torch.tensor([1, 1])).item(), torchmetrics.functional.accuracy.__name__)
"""


def test_training_imports_no_metrics_and_a_task_may_use_them() -> None:
    done = subprocess.run([sys.executable, "-c", METRICS], cwd=PROJECT, capture_output=True, text=True)
    assert done.stdout == "[]\n0.5 accuracy\n", done.stderr


def test_training_imports_no_compiler_and_a_task_may_use_it() -> None:
    done = subprocess.run([sys.executable, "-c", COMPILER], cwd=PROJECT, capture_output=True, text=True)
    assert done.stdout == "False False False\nTrue\nFalse True\nTrue torch._dynamo.decorators\n", done.stderr


def test_a_whole_run_imports_no_compiler(world: Path, tmp_path: Path) -> None:
    paths = [f"paths.cache={world / 'cache'}", f"paths.runs={tmp_path}"]
    done = subprocess.run([sys.executable, "-c", FIT, *paths], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


COMPILER = """
import sys
from elmo_bench.training.lightning import pl
import torch
from lightning_fabric.wrappers import OptimizedModule
layer = torch.nn.Linear(2, 1)
optimiser = torch.optim.Adam(layer.parameters(), fused=True)
layer(torch.ones(2)).sum().backward()
optimiser.step()
print("torch._dynamo.eval_frame" in sys.modules, "sympy" in sys.modules, isinstance(layer, OptimizedModule))
compiled = torch.compile(layer, backend="eager")
assert torch.equal(compiled(torch.ones(2)), layer(torch.ones(2)))
print("torch._dynamo.eval_frame" in sys.modules)
print(isinstance(layer, OptimizedModule), isinstance(compiled, OptimizedModule))
print(torch._dynamo.OptimizedModule is type(compiled), torch._dynamo.disable.__module__)
optimiser.step()
"""
FIT = """
import sys
from elmo_bench.cli.main import main
assert main(["run", "task=ner", "elmo=none", "words=random", "debug=fast", *sys.argv[1:]]) == 0
assert "torch._dynamo.eval_frame" not in sys.modules
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package whose body says that it is executed."""
    name = f"put_off_{tmp_path.name}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(f"from {name}.part import One\nbody = 'executed'\n")
    (tmp_path / name / "part.py").write_text(f"from {name} import log\nclass One: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_the_body_is_executed_when_another_name_is_asked_for(package: str) -> None:
    put_off(package, {"One": "part"}, log="ours")
    module = import_module(package)
    one = module.One
    assert "body" not in vars(module)
    assert not hasattr(module, "__wrapped__") and "body" not in vars(module)
    assert module.body == "executed"
    assert module.One is one is import_module(f"{package}.part").One
    with pytest.raises(AttributeError):
        module.absent  # noqa: B018


def test_the_body_is_executed_before_a_module_of_the_package(package: str) -> None:
    put_off(package, {}, log="ours")
    module, part = import_module(package), import_module(f"{package}.part")
    assert module.body == "executed"
    assert module.One is part.One  # executed once
    assert part.__spec__ is not None and part.__spec__.loader is part.__loader__


def test_a_package_with_other_modules_is_imported_as_always(package: str) -> None:
    put_off(package, {"One": "part", "Two": "moved"}, log="ours")
    assert package not in sys.modules
    assert f"{package}.part" not in sys.modules
