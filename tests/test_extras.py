"""Without the packages of the extras everything else works, and what needs one says how to install it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from elmo_bench import extras
from elmo_bench.config import TrackingConfig
from elmo_bench.extras import EXTRAS, import_extra, is_installed, require_extra
from elmo_bench.runs import tracking
from elmo_bench.sweep.scripts import launch_runs
from elmo_bench.types import PackageMissingError
from tests.conftest import PROJECT
from tests.support.processes import without_extras

DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
COMMAND = "from elmo_bench.cli.main import start\nsys.exit(start())"
RUN = "sys.argv[0] = 'run.py'\nrunpy.run_path('run.py', run_name='__main__')"
EVERY_MODULE = """
import importlib, pkgutil, elmo_bench
of_one_extra = {"elmo_bench.metrics.reference"}
for module in pkgutil.walk_packages(elmo_bench.__path__, "elmo_bench."):
    if module.name not in of_one_extra and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""


def distributions(extra: str) -> set[str]:
    return {Requirement(text).name for text in DECLARED["optional-dependencies"][extra]}


def test_each_extra_brings_the_packages_that_our_code_imports() -> None:
    known = packages_distributions()
    for extra, (package, *_) in EXTRAS.items():
        if package in known:
            assert known[package][0].replace("_", "-") in distributions(extra)


def test_all_brings_every_extra_and_the_tests_need_all() -> None:
    (everything,) = map(Requirement, DECLARED["optional-dependencies"]["all"])
    assert everything.extras == set(DECLARED["optional-dependencies"]) - {"all", "dev", "docs"}
    assert everything.extras >= set(EXTRAS)
    assert "elmo-bench[all]" in DECLARED["optional-dependencies"]["dev"]


def test_no_package_of_an_extra_is_needed_everywhere() -> None:
    everywhere = {Requirement(text).name for text in DECLARED["dependencies"]}
    assert everywhere.isdisjoint(set().union(*map(distributions, EXTRAS)))


def test_every_module_is_imported_without_the_extras() -> None:
    code, output, errors = without_extras(EVERY_MODULE)
    assert code == 0, errors
    assert "elmo_bench.encoders.transformer.plugin" in output.split()
    assert "elmo_bench.dashboard.saving" in output.split()


def test_a_tracker_without_its_package_is_refused_before_any_work(tmp_path: Path) -> None:
    places = [f"paths.{name}={tmp_path / name}" for name in ("runs", "cache", "records")]
    code, _, errors = without_extras(RUN, "task=ner", "elmo=none", "tracking=wandb", "debug=fast", *places)
    assert code == 3, errors
    assert "tracking=wandb needs the package wandb (not installed): pip install" in errors
    assert "-e '.[wandb]'" in errors and "Traceback" not in errors
    assert not list((tmp_path / "runs").glob("*/*/*.ckpt"))


@pytest.mark.parametrize("launcher", ["parallel", "slurm"])
def test_a_launcher_without_its_package_names_the_extra(
    launcher: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda module: False)
    assert launch_runs("", ["-m", "task=ner", f"hydra/launcher={launcher}", "plan=true"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: hydra/launcher={launcher} needs the package hydra_plugins.hydra_")
    assert line.endswith(f"-e '.[{launcher}]'")


def test_tracking_a_finished_run_without_its_package_names_the_extra() -> None:
    code, _, errors = without_extras(COMMAND, "track", "anything")
    assert code == 3, errors
    assert errors.startswith("error: tracking=wandb needs the package wandb (not installed): pip install")


def test_a_check_without_its_package_names_the_extra(tmp_path: Path) -> None:
    tagged = tmp_path / "tagged.txt"
    tagged.write_text("Ann B-PER B-PER\n\n")
    code, output, _ = without_extras(COMMAND, "score", "ner", str(tagged))
    assert code == 0 and '"f1": 100.0' in output
    code, _, errors = without_extras(COMMAND, "score", "ner", str(tagged), "--check")
    assert code == 3
    (line,) = errors.splitlines()
    assert line.startswith(
        "error: --check needs the package seqeval (No module named 'seqeval'): pip install"
    )
    assert line.endswith("-e '.[check]'")


def test_a_data_frame_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(PackageMissingError, match=r"^to_dataframe needs .* pandas .*\[pandas\]") as caught:
        from elmo_bench.results import Results

        Results(()).to_dataframe()
    assert caught.value.exit_code == 3


def test_a_package_is_looked_for_without_importing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "example", ("elmo_bench_absent",))  # type: ignore[arg-type]
    assert not is_installed("elmo_bench_absent")
    for refuse in (require_extra, import_extra):
        with pytest.raises(PackageMissingError, match=r"^this needs the package elmo_bench_absent"):
            refuse("elmo_bench_absent", "this")


def test_a_message_says_what_to_do_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(PackageMissingError, match=r"\[hub\]'; or take a directory$"):
        import_extra("datasets", "this", "or take a directory")


def test_elsewhere_than_on_linux_and_macos_the_package_says_so() -> None:
    program = "import os\nos.name = 'nt'\nimport elmo_bench"
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("ImportError: elmo_bench runs on Linux and macOS")


def test_tensorboard_is_asked_for_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda module: False)
    remedy = r"-e '\.\[tensorboard\]'; tracking=csv needs none$"
    with pytest.raises(PackageMissingError, match=remedy):
        tracking.require_tracker(TrackingConfig(kind="tensorboard"))
    tracking.require_tracker(TrackingConfig(kind="csv"))
