"""Build the package from what git tracks; untracked files and old builds of a clone are left out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from tests.conftest import PROJECT

OLDEST_SETUPTOOLS = "77"  # as in pyproject.toml
SOURCES = ("elmo_bench", "conf", "tasks", "pyproject.toml", "README.md")
BUILD_SDIST = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"


def tracked(*paths: str) -> list[str]:
    """The files of the repository below some paths; links are not followed."""
    command = ["git", "ls-files", "-z", "--", *paths]
    listed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (PROJECT / name).exists()]


def copy_sources(target: Path) -> Path:
    """What the package is built from, links as links."""
    for name in tracked(*SOURCES):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT / name, target / name, follow_symlinks=False)
    return target


def build_wheel(source: Path, target: Path) -> Path:
    """The wheel of a directory or of an sdist, built without the network."""
    _require_setuptools()
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "-w", target, source], check=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def build_sdist(source: Path, target: Path) -> Path:
    """The source distribution of a directory."""
    _require_setuptools()
    target.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", BUILD_SDIST, target]
    subprocess.run(command, cwd=source, capture_output=True, check=True)
    (sdist,) = target.glob("*.tar.gz")
    return sdist


def _require_setuptools() -> None:
    if Version(version("setuptools")) < Version(OLDEST_SETUPTOOLS):
        pytest.skip(f"needs setuptools {OLDEST_SETUPTOOLS} or newer, which builds the package")
