"""Run the commands that documents tell a reader to type, in a directory of their own."""

from __future__ import annotations

import runpy
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig

from tests.conftest import PROJECT
from tests.support.markdown import Block

SCRIPTS = ("run.py", "pretrain.py")


def command_lines(block: Block) -> list[str]:
    """The commands of a shell block without their comments; a backslash continues a line."""
    joined = block.text.replace("\\\n", " ")
    lines = (line.split(" #")[0].strip() for line in joined.splitlines())
    return [" ".join(line.split()) for line in lines if line and not line.startswith("#")]


def run_command(command: str | Sequence[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run `python run.py ...` or `python -m MODULE ...` in this process, which saves importing."""
    words = shlex.split(command) if isinstance(command, str) else list(command)
    assert words[0] == "python", words
    with _fresh_hydra(monkeypatch):
        try:
            if words[1] == "-m":
                monkeypatch.setattr(sys, "argv", words[2:])
                runpy.run_module(words[2], run_name="__main__", alter_sys=True)
            else:
                assert words[1] in SCRIPTS, words
                monkeypatch.setattr(sys, "argv", words[1:])
                runpy.run_path(str(PROJECT / words[1]), run_name="__main__")
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


@contextmanager
def _fresh_hydra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hydra keeps its last configuration for a whole process, as does sys.path an added directory."""
    paths = list(sys.path)
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        GlobalHydra.instance().clear()
        sys.path[:] = paths
