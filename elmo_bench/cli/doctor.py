"""`python -m elmo_bench doctor`: is everything that runs need installed, and does it compute correctly?"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from elmo_bench.cli.overrides import DIRECTORIES, read_paths, take_overrides
from elmo_bench.commands import spell_command, spell_install
from elmo_bench.config import PathsConfig
from elmo_bench.extras import EXTRAS, is_installed
from elmo_bench.files import nearest_directory
from elmo_bench.types import BenchError

HELP = """check this machine and this installation: versions, processor, directories, a tiny computation, W&B

Every line that is not `ok` names the remedy. The exit code is 1 if something prevents runs."""
EXAMPLE = "python -m elmo_bench doctor\n  python -m elmo_bench doctor paths.cache=/scratch/cache"

OLDEST_PYTHON = (3, 11)
OURS = "elmo_bench."  # prefix of the dotted path of every plug-in of this package
LITTLE_ROOM = 5e9  # bytes
TOLERANCE = 1e-5  # between the engine and the plain model, as in its tests
FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
SELF_CHECK = ("Ruiz made a spectacular play .", "the play", "Grüße")


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    state: Literal["ok", "note", "problem"]
    what: str
    found: str
    remedy: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments; paths.NAME=DIR sets the directories to check."""
    take_overrides(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print one line per check, and a remedy for every failed one."""
    paths = read_paths(arguments)
    checks = [
        *check_packages(),
        *check_hardware(),
        *check_places(paths),
        *check_plugins(),
        check_computing(),
        check_tracking(),
    ]
    for check in checks:
        print(f"{check.state:8} {check.what:18} {check.found}")
        if check.remedy:
            print(f"{'':8} {'':18} -> {check.remedy}")
    problems = sum(check.state == "problem" for check in checks)
    if problems:
        raise BenchError(f"{problems} of {len(checks)} checks failed; see the lines marked problem above")


def check_packages() -> Iterator[Check]:
    """Python and every declared dependency against its bounds."""
    version = sys.version.split()[0]
    if sys.version_info >= OLDEST_PYTHON:
        yield Check("ok", "python", version)
    else:
        yield Check(
            "problem", "python", version, f"Python {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed"
        )
    try:
        declared = importlib.metadata.requires("elmo-bench") or []
    except importlib.metadata.PackageNotFoundError:
        yield Check(
            "note", "elmo_bench", "run from a clone", "pip install -e . makes its commands found anywhere"
        )
        declared = read_declared(Path(__file__).resolve().parents[2] / "pyproject.toml")
    needed = [requirement for text in declared if is_needed(requirement := Requirement(text))]
    faults = [fault for requirement in needed for fault in check_requirement(requirement)]
    yield from faults
    if not faults:
        yield Check("ok", "packages", f"{len(needed)} declared, all within their bounds")
    yield from check_extras()


def read_declared(project: Path) -> list[str]:
    """The dependencies that pyproject.toml names."""
    import tomllib

    return list(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"])


def is_needed(requirement: Requirement) -> bool:
    """Whether a requirement applies to this environment without any extra."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def check_requirement(requirement: Requirement) -> list[Check]:
    """The fault of one dependency, absent or out of bounds; empty if there is none."""
    remedy = f"pip install '{requirement}'"
    try:
        installed = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return [Check("problem", requirement.name, "not installed", remedy)]
    if requirement.specifier.contains(installed, prereleases=True):
        return []
    found = f"{installed}, expected {requirement.specifier}"
    return [Check("problem", requirement.name, found, remedy)]


def check_extras() -> Iterator[Check]:
    """The extras that are installed, and for each of the others the command that installs it."""
    absent = [name for name, packages in EXTRAS.items() if not all(map(is_installed, packages))]
    if present := [name for name in EXTRAS if name not in absent]:
        yield Check("ok", "extras", ", ".join(present))
    for name in absent:
        lacking = ", ".join(package for package in EXTRAS[name] if not is_installed(package))
        yield Check("note", f"extra {name}", f"without {lacking}", spell_install(name))


def check_hardware() -> Iterator[Check]:
    """The processor and the GPU that PyTorch uses."""
    import torch

    from elmo_bench.runs.environment import count_cores, describe_processor

    known = describe_processor().get("flags", "").split()
    flags = [flag for flag in FLAGS if flag in known]
    threads = f"{torch.get_num_threads()} threads of {count_cores()} cores"
    yield Check("ok", "torch", f"{torch.__version__}, {threads}")
    bf16 = any("bf16" in flag for flag in flags)
    yield Check(
        "ok", "processor", f"{' '.join(flags) or 'unknown vector units'}; bfloat16 {'yes' if bf16 else 'no'}"
    )
    if torch.cuda.is_available():
        yield Check("ok", "gpu", ", ".join(map(torch.cuda.get_device_name, range(torch.cuda.device_count()))))
    elif torch.version.cuda:
        yield Check(
            "note", "gpu", "no GPU found", "trainer=gpu needs a driver for CUDA " + torch.version.cuda
        )
    else:
        yield Check("note", "gpu", "PyTorch was built without CUDA", "nothing to do for trainer=cpu")


def check_places(paths: PathsConfig) -> Iterator[Check]:
    """Which directories exist, which are writable, and how much space is free."""
    for name in ("runs", "cache", "models", "records"):
        place = getattr(paths, name)
        parent = nearest_directory(place)
        free = shutil.disk_usage(parent).free
        found = f"{place}, {free / 1e9:.0f} GB free"
        if not os.access(parent, os.W_OK):
            yield Check(
                "problem",
                f"paths.{name}",
                f"{place} is not writable",
                f"choose another directory: paths.{name}=DIR",
            )
        elif free < LITTLE_ROOM:
            stored = spell_command("store", ["list", f"paths.cache={paths.cache}"])
            yield Check("note", f"paths.{name}", found, f"{stored} shows what `store clean` can delete")
        else:
            yield Check("ok", f"paths.{name}", found)
    for source, (name, setting) in DIRECTORIES.items():
        remedy = f"{setting} names another directory; {spell_command('tasks')} lists what it holds"
        yield check_directory(name, getattr(paths, name), f"only data={source} needs it: {remedy}")
    yield check_directory(
        "vectors", paths.vectors, "only words=glove needs it: paths.vectors=DIR names another directory"
    )


def check_directory(name: str, place: Path, remedy: str) -> Check:
    """A directory that only some runs need."""
    if place.is_dir():
        return Check("ok", f"paths.{name}", str(place))
    return Check("note", f"paths.{name}", f"{place.resolve()} does not exist", remedy)


def check_plugins() -> Iterator[Check]:
    """Whether the tasks and encoders of installed packages and of --config-dir can be loaded."""
    from elmo_bench.catalog import list_plugins
    from elmo_bench.encoders.protocol import EncoderPlugin
    from elmo_bench.plugins import find_class
    from elmo_bench.task import Task

    for group, base in (("task", Task), ("encoder", EncoderPlugin)):
        for name, path in list_plugins(group).items():
            if path.startswith(OURS):
                continue
            try:
                find_class(path, base, group)
                yield Check("ok", f"{group} {name}", path)
            except BenchError as error:
                yield Check("problem", f"{group} {name}", str(error), "docs/EXTENDING.md has an example")


def check_computing() -> Check:
    """The fast engine against the plain model, on a random biLM and three short sentences."""
    from elmo_bench.bilm.engine.check import largest_difference

    sentences = [tuple(sentence.split()) for sentence in SELF_CHECK]
    difference = attempt(lambda: largest_difference(sentences))
    if isinstance(difference, Check):
        return difference
    found = f"engine and model differ by {difference:.1e} at most"
    if difference <= TOLERANCE:
        return Check("ok", "self-check", found)
    return Check(
        "problem", "self-check", found, f"expected {TOLERANCE:.0e}; install the versions of constraints.txt"
    )


def attempt(action: Callable[[], float]) -> float | Check:
    """A number, or a failed check; any error here would also occur in every run."""
    try:
        return action()
    except (RuntimeError, ImportError, OSError) as error:
        reason = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        return Check("problem", "self-check", reason, "install the versions of constraints.txt")


def check_tracking() -> Check:
    """Whether tracking=wandb would work online."""
    from elmo_bench.runs.tracking import has_wandb_key

    mode = os.environ.get("WANDB_MODE")
    if mode:
        return Check("ok", "wandb", f"WANDB_MODE={mode} decides")
    if has_wandb_key():
        return Check("ok", "wandb", "a key is configured: tracking=wandb works online")
    remedy = "nothing to do: runs are kept offline (docs/DASHBOARD.md); wandb login puts them online"
    return Check("note", "wandb", "no key is configured", remedy)
