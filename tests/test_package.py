"""A wheel holds every file of conf and tasks, all modules, and nothing outside of elmo_bench."""

from __future__ import annotations

import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from elmo_bench import __version__
from tests.support.packages import build_sdist, build_wheel, copy_sources, tracked

LINKED = ("conf", "tasks")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(build_wheel(source, tmp_path_factory.mktemp("wheel")))


def expected_files() -> set[str]:
    """What git tracks of the package, with the files of conf and tasks below it."""
    links = {f"elmo_bench/{name}" for name in LINKED}
    return {name for name in tracked("elmo_bench") if name not in links} | {
        f"elmo_bench/{name}" for name in tracked(*LINKED)
    }


def files_of(wheel: zipfile.ZipFile) -> set[str]:
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


def test_a_wheel_holds_the_files_of_the_package_and_no_others(wheel: zipfile.ZipFile) -> None:
    assert files_of(wheel) == expected_files()


def test_a_wheel_brings_the_command(wheel: zipfile.ZipFile) -> None:
    information = f"elmo_bench-{__version__}.dist-info"
    metadata = message_from_string(wheel.read(f"{information}/METADATA").decode())
    assert metadata["Version"] == __version__
    assert "elmo-bench = elmo_bench.cli.main:start" in wheel.read(f"{information}/entry_points.txt").decode()


def test_a_source_distribution_makes_the_same_wheel(
    source: Path, wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    sdist = build_sdist(source, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        assert all(not member.issym() for member in archive)
    again = zipfile.ZipFile(build_wheel(sdist, tmp_path / "wheel"))
    assert files_of(again) == files_of(wheel)
