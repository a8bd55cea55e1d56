"""Run the project's commands as a person does, in processes of their own.

Most commands take less time than the imports before them. So `start` forks a process from a server that has
done these imports; `start_python` starts Python itself, for tests of what happens before or after a command.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from multiprocessing import forkserver
from pathlib import Path

import pytest

from elmo_bench.extras import EXTRAS
from tests.conftest import PROJECT

ABSENT = sorted({package for packages in EXTRAS.values() for package in packages})
SLOW_PACKAGES = (
    *("torch", "pytorch_lightning", "lightning_fabric", "scipy.stats", "numpy.testing"),
    *(name for name in ABSENT if not name.startswith("hydra_plugins.")),  # Hydra imports those itself
)
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "elmo_bench.bilm.training.pretraining",
        "elmo_bench.cli.embed",
        "elmo_bench.cli.main",
        "elmo_bench.cli.publish",
        "elmo_bench.runs.execution",
        "elmo_bench.runs.restoration",
        "elmo_bench.sweep.multirun",
        "elmo_bench.sweep.pretraining",
        "elmo_bench.sweep.scripts",
        "tests.support.processes",
    ]
)
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
_IMPORTS = """
import json, sys
from elmo_bench.cli.main import main
slow, commands = json.loads(sys.argv[1])
for command in commands:
    try:
        code = main(command)
    except SystemExit as stop:
        code = stop.code
    if code:
        sys.exit(code)
    for name in sorted(set(slow) & sys.modules.keys()):
        print(f"{name} is imported after {command}", file=sys.stderr)
"""


def slow_imports(*commands: Sequence[str]) -> tuple[str, list[str]]:
    """What commands print in one process, and a line for every slow package that each has imported."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS, json.dumps([SLOW_PACKAGES, commands])],
        cwd=PROJECT,
        env={**os.environ, **ONE_THREAD},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr.splitlines()


_HIDING = """
import runpy, sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, *further):
        return None if name.partition(".")[0] in {absent} else super().find_spec(name, *further)

    @classmethod
    def find_distributions(cls, *context):
        found = super().find_distributions(*context)
        return (one for one in found if one.name.replace("-", "_") not in {absent})

sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""


def without_extras(program: str, *arguments: str, directory: Path = PROJECT) -> tuple[int, str, str]:
    """Exit code and output of a program, where no package of any extra is installed."""
    done = subprocess.run(
        [sys.executable, "-c", _HIDING.replace("{absent}", repr(ABSENT)) + program, *arguments],
        cwd=directory,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout, done.stderr


class Command:
    """A running command, used as a `subprocess.Popen` with text is."""

    def __init__(self, script: str, arguments: Sequence[str], environment: dict[str, str]) -> None:
        directory = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, directory)
        self._output, self._errors = directory / "output", directory / "errors"
        start_server()
        self._process = PROCESSES.Process(
            target=_run, args=(script, arguments, environment, self._output, self._errors)
        )
        self._process.start()
        weakref.finalize(self, self._process.kill)  # a test that fails leaves nothing running

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int:
        assert self._process.exitcode is not None
        return self._process.exitcode

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it is running."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def wait_for_output(self, text: str) -> None:
        """Return as soon as standard output has a text."""
        while not (self._output.exists() and text in self._output.read_text()):
            assert self.poll() is None, self.communicate()
            time.sleep(0.01)

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """Standard output and standard error of the command, when it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self._process), timeout)
        return self._output.read_text(), self._errors.read_text()


def start(*arguments: str, script: str = "run.py", **environment: str) -> Command:
    """A running command, forked from a process that has done the imports."""
    return Command(script, arguments, {**os.environ, **ONE_THREAD, **environment})


def start_python(
    *arguments: str, script: str = "run.py", output: int = subprocess.PIPE, **environment: str
) -> subprocess.Popen[str]:
    """A running command in a new Python; its output is read at its end."""
    return subprocess.Popen(
        [sys.executable, script, *arguments],
        cwd=PROJECT,
        env={**os.environ, **ONE_THREAD, **environment},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(*arguments: str, script: str = "run.py") -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command that has ended."""
    process = start(*arguments, script=script)
    output, errors = process.communicate()
    return process.returncode, output, errors


def finish_python(*arguments: str, script: str = "run.py") -> tuple[int, str, str]:
    """The same in a new Python."""
    process = start_python(*arguments, script=script)
    output, errors = process.communicate(timeout=300)
    return process.returncode, output, errors


def start_server() -> None:
    """Start the server of processes, if it does not run; like a command it has one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PROJECT))
        for name, value in ONE_THREAD.items():
            patch.setenv(name, value)
        forkserver.ensure_running()


def places(root: Path, **others: Path) -> list[str]:
    """Overrides that keep everything a run writes below one directory, but for what lies elsewhere."""
    usual = {name: root / name for name in ("runs", "cache", "records")}
    return [f"paths.{name}={place}" for name, place in {**usual, **others}.items()]


def _run(
    script: str, arguments: Sequence[str], environment: dict[str, str], output: Path, errors: Path
) -> None:
    """What `python SCRIPT ARGUMENTS` does, in the process of a command."""
    sys.stdout, sys.stderr = _redirect(1, output), _redirect(2, errors)
    sys.stderr.reconfigure(line_buffering=True)
    os.chdir(PROJECT)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [script, *arguments]
    if script == "-m":
        sys.argv = list(arguments)
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(script, run_name="__main__")


def _redirect(descriptor: int, path: Path) -> io.TextIOWrapper:
    """A standard stream that writes to a file, also for what is written by libraries."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(opened, descriptor)
    os.close(opened)
    return open(descriptor, "w", encoding="utf-8", closefd=False)
