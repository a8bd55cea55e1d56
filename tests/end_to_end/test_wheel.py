"""The wheel in a fresh environment, used in an empty directory: what a clone offers works from anywhere.

Environment and directory lie in somebody else's repository, whose commit no record may take.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from elmo_bench import __version__
from elmo_bench.cli.main import main
from elmo_bench.commands import INSTALLED
from tests.conftest import PROJECT
from tests.support.packages import build_wheel, copy_sources
from tests.support.report_records import publish_world

pytestmark = pytest.mark.slow
TINY = ("bilm@encoder.bilm=tiny", "task.training.epochs=1")
SENTENCES = "the play was good .\nshe saw a play on Monday .\n"


@dataclass(frozen=True)
class Installation:
    """An environment with the wheel, and the directory in which its commands are used."""

    programs: Path
    directory: Path

    def run(self, program: str, *words: str, code: int = 0) -> str:
        """What a program prints; its exit code must be the expected one."""
        done = subprocess.run(
            [self.programs / program, *words],
            cwd=self.directory,
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def command(self, *words: str, code: int = 0) -> str:
        """What elmo-bench prints."""
        return self.run("elmo-bench", *words, code=code)


def clean_environment() -> dict[str, str]:
    """Nothing that leads to the clone or to its data."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ELMO_BENCH_DATA")
    }
    return {**kept, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    root = tmp_path_factory.mktemp("somebody")
    wheel = build_wheel(copy_sources(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("wheel"))
    environment = make_environment(root / "environment", wheel)
    directory = root / "empty"
    directory.mkdir()
    commit_everything(root)
    return Installation(environment / "bin", directory)


def make_environment(environment: Path, wheel: Path) -> Path:
    """A new virtual environment with the wheel; its dependencies are those of the current one."""
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel]
    subprocess.run([*install, "--no-index", "--disable-pip-version-check"], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    # Python reads no .pth file of a directory that a .pth file names: an editable install stays out.
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return environment


def commit_everything(directory: Path) -> None:
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "everything"]):
        subprocess.run(["git", *words], cwd=directory, check=True)


@pytest.fixture(scope="module")
def finished(installation: Installation) -> str:
    """The output of a sweep of two runs, small enough for a test and large enough to be published."""
    return installation.command("run", "-m", "task=ner", "elmo=none,paper", *TINY)


def test_the_package_is_the_wheel_s(installation: Installation) -> None:
    where = installation.run("python", "-c", "import elmo_bench; print(elmo_bench.__file__)").strip()
    assert Path(where).is_relative_to(installation.programs.parent)


def test_help_names_the_installed_command(installation: Installation) -> None:
    for words in ([], ["run"], ["pretrain"], ["tasks"], ["report"]):
        printed = installation.command(*words, "--help")
        assert "elmo-bench" in printed and "python" not in printed


def test_every_task_is_listed(installation: Installation) -> None:
    listed = json.loads(installation.command("tasks", "--json"))
    assert sorted(listed) == sorted(path.stem for path in (PROJECT / "conf" / "task").glob("*.yaml"))
    assert "ELMO_BENCH_DATA=DIR" in installation.command("tasks")


def test_the_doctor_finds_nothing_wrong(installation: Installation) -> None:
    printed = installation.command("doctor")
    assert "within their bounds" in printed and "problem" not in printed
    assert "ELMO_BENCH_DATA=DIR" in printed


def test_a_run_is_validated(installation: Installation) -> None:
    assert "gold scores 100.00" in installation.command("validate", "task=ner", *TINY)
    assert "ELMO_BENCH_DATA" in installation.command("validate", "task=ner", "data=open", code=3)


def test_the_first_command_runs(installation: Installation) -> None:
    printed = installation.command("run", "task=ner", "debug=fast", "bilm@encoder.bilm=tiny")
    assert "record: results/runs/ner/" in printed
    assert "next:   elmo-bench run task=ner debug=fast" in printed


def test_a_sweep_runs(finished: str) -> None:
    assert "2 of 2 jobs done" in finished


def test_records_have_the_version_and_nobody_s_commit(installation: Installation, finished: str) -> None:
    results = [*installation.directory.glob("results/runs/ner/*/result.json")]
    assert len(results) >= 2
    for result in results:
        environment = json.loads(result.read_text())["environment"]
        assert (environment["version"], environment["commit"]) == (__version__, None)
        assert environment["versions"].keys() == {"torch", "pytorch-lightning", "numpy"}


def test_results_are_published_and_reported(installation: Installation, finished: str) -> None:
    assert "results/records: 2 new" in installation.command("publish")
    installation.command("report", "--resamples", "100")
    page = (installation.directory / "results" / "TABLES.md").read_text()
    assert f"from version {__version__}." in page.replace("\\", "")


@pytest.mark.parametrize("devices", [1, 2])
def test_a_model_is_pretrained_and_used_in_python(installation: Installation, devices: int) -> None:
    text = installation.directory / "text"
    text.mkdir(exist_ok=True)
    (text / "train.txt").write_text(SENTENCES * 100)
    (text / "heldout.txt").write_text(SENTENCES * 10)
    name = f"model-{devices}"
    quick = ["bilm.steps=4", "bilm.epochs=null", "bilm.batches.tokens=256", f"trainer.devices={devices}"]
    installation.command("pretrain", "bilm=tiny", "corpus=text", f"name={name}", *quick)
    code = (
        "from elmo_bench import Elmo; print(Elmo.load('results/models/{}').embed([['a', 'play']])[0].shape)"
    )
    assert installation.run("python", "-c", code.format(name)).strip() == "(3, 2, 16)"


@pytest.mark.parametrize("records", ["published", "made"])
def test_the_report_is_that_of_the_clone(
    records: str, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if records == "made":  # on a tenth of the training set, as their size prescribes
        publish_world(tmp_path / "records", snli_fraction=0.1)
    directory = PROJECT / "results" / "records" if records == "published" else tmp_path / "records"
    words = ["report", f"paths.records={directory}", "--resamples", "100", "--output"]
    installation.command(*words, str(tmp_path / "wheel"))
    monkeypatch.chdir(PROJECT)
    assert main([*words, str(tmp_path / "clone")]) == 0
    names = sorted(path.name for path in (tmp_path / "clone").iterdir())
    assert len(names) == 5
    for name in names:
        wheel, clone = (named_alike((tmp_path / side / name).read_text()) for side in ("wheel", "clone"))
        assert wheel == clone, name


def named_alike(text: str) -> str:
    """A text with the commands of an installed package; LaTeX and Markdown escape underscores."""
    for of_a_clone, installed in INSTALLED.items():
        for spelled in (of_a_clone, of_a_clone.replace("_", r"\_")):
            text = text.replace(spelled, installed)
    return text
