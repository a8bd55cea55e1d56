"""Records name the code of a run: its version, and a commit only where this package is what was committed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from elmo_bench import __version__
from elmo_bench.runs.environment import PACKAGES, describe_code, describe_environment
from elmo_bench.tasks.coref.task import CorefTask

NAME = "elmo_bench"
INSTALLED = {"version": __version__, "commit": None, "dirty": None}


def git(directory: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True).stdout.strip()


def make_package(project: Path) -> Path:
    package = project / NAME
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    return package


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Somebody's repository with one commit."""
    git(tmp_path, "init", "-q")
    (tmp_path / "notes.txt").touch()
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "notes")
    return tmp_path


def test_a_clone_has_its_commit(repository: Path) -> None:
    package = make_package(repository)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "package")
    code = {"version": __version__, "commit": git(repository, "rev-parse", "HEAD"), "dirty": False}
    assert describe_code(package) == code
    (package / "__init__.py").write_text("changed")
    assert describe_code(package) == {**code, "dirty": True}


def test_results_do_not_make_a_clone_dirty(repository: Path) -> None:
    package = make_package(repository)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "package")
    (repository / "results").mkdir()
    (repository / "results" / "TABLES.md").touch()
    assert describe_code(package)["dirty"] is False


@pytest.mark.parametrize("directory", [".", ".venv/lib/python3.11/site-packages"])
def test_a_package_installed_inside_a_repository_has_no_commit(repository: Path, directory: str) -> None:
    assert describe_code(make_package(repository / directory)) == INSTALLED


def test_a_repository_that_keeps_its_environment_is_no_clone(repository: Path) -> None:
    package = make_package(repository / "environment")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "environment")
    assert describe_code(package) == INSTALLED


def test_outside_of_repositories_there_is_no_commit(tmp_path: Path) -> None:
    assert describe_code(make_package(tmp_path)) == INSTALLED


def test_a_record_lists_the_packages_that_its_run_computes_with() -> None:
    assert describe_environment()["versions"].keys() == set(PACKAGES)
    assert describe_environment(CorefTask.packages)["versions"].keys() == {*PACKAGES, "scipy"}
