"""A task, an encoder, a corpus, a size and an experiment outside the repository do all that ours do."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from elmo_bench.conditions import is_baseline
from elmo_bench.records import Record, read_record
from elmo_bench.runs import fitting
from elmo_bench.sweep.scripts import launch_runs, launch_training
from tests.support.extensions import fresh_process, write_extensions

Output = pytest.CaptureFixture[str]
OWN = ("--config-dir", "mine")
QUICK = ("paths.data=mine/data", "trainer.threads=1", "encoder=bert")


@dataclass(frozen=True)
class Extension:
    """The words that choose it, and where the report shows its runs."""

    words: tuple[str, ...]
    task: str
    section: str
    corpus: str
    size: str
    data: str  # its test split
    sweep: tuple[str, ...] = ("elmo=none,paper",)

    def fits(self, record: Record) -> bool:
        return (record.task, record.corpus, record.size) == (self.task, self.corpus, self.size)


MOOD = ("task=mood", "data=open")
TSV, CONLL = "mine/data/mood/test.tsv", "mine/data/chess/test.conll"
CHESS = ("task=ner", "data=open", "data.corpus=chess", "words=random", "size=quick")
EXTENSIONS = {
    "task": Extension(MOOD, "mood", "moods", "mood", "paper", TSV),
    "experiment": Extension(
        ("+experiment=moods",), "mood", "moods", "mood", "paper", TSV, ("elmo=none,paper,last", "seed=2")
    ),
    "size": Extension((*MOOD, "size=quick"), "mood", "moods", "mood", "quick", TSV),
    "corpus": Extension(CHESS, "ner", "table1", "chess", "quick", CONLL),
}
every_extension = pytest.mark.parametrize("name", EXTENSIONS)


@dataclass(frozen=True)
class Outside:
    """A directory that is no repository, what was printed there, and the runs by what they are to show."""

    root: Path
    printed: dict[str, str]
    codes: dict[str, int]

    def runs(self, name: str) -> dict[bool, Path]:
        """A baseline and a run with ELMo of an extension."""
        found = {}
        for path in sorted((self.root / "results" / "runs").glob("*/*/result.json")):
            record = read_record(path)
            if EXTENSIONS[name].fits(record) and record.identity["elmo"].get("layers") != "last":
                found[is_baseline(record)] = path.parent
        return found


def launch(*words: str) -> int:
    return launch_runs("", [*OWN, *QUICK, *words])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    """The sweep of every extension, published."""
    root = tmp_path_factory.mktemp("outside")
    write_extensions(root)
    made = Outside(root, {}, {})
    for name, extension in EXTENSIONS.items():
        with fresh_process(root), redirect_stdout(StringIO()) as printed:
            made.codes[name] = launch("-m", *extension.words, *extension.sweep)
        made.printed[name] = printed.getvalue()
    with fresh_process(root):
        assert main(["publish", *OWN]) == 0
    return made


@pytest.fixture(autouse=True)
def outside(made: Outside) -> Iterator[None]:
    """Every test begins as a new process in that directory."""
    with fresh_process(made.root):
        yield


@every_extension
def test_it_runs_with_and_without_elmo(name: str, made: Outside) -> None:
    assert made.codes[name] == 0
    assert " gain " in made.printed[name]
    runs = made.runs(name)
    assert sorted(runs) == [False, True]
    assert read_record(runs[False] / "result.json").encoder == "bert"


@every_extension
def test_it_is_planned_as_done(name: str, capfd: Output) -> None:
    extension = EXTENSIONS[name]
    assert launch("-m", *extension.words, *extension.sweep, "plan=true") == 0
    assert "0 missing" in capfd.readouterr().out


@every_extension
def test_an_interrupted_run_resumes(
    name: str, made: Outside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Output
) -> None:
    extension = EXTENSIONS[name]
    one = [word for word in extension.sweep if not word.startswith("elmo=")] + ["elmo=paper"]
    places = [f"paths.{place}={tmp_path / place}" for place in ("runs", "records")]  # nothing is done there
    words = ["-m", *extension.words, *one, *places]
    save = fitting.CheckpointDirectory.save

    def save_and_stop(self: fitting.CheckpointDirectory, *arguments: Any) -> None:
        save(self, *arguments)
        raise OSError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(fitting.CheckpointDirectory, "save", save_and_stop)
        assert launch(*words) == 1
    assert launch(*words) == 0
    assert "step-" in capfd.readouterr().out
    (resumed,) = (tmp_path / "runs").glob("*/*/result.json")
    whole = made.root / "results" / "runs" / extension.task / resumed.parent.name / "result.json"
    assert read_record(resumed).hashes == read_record(whole).hashes


def report(made: Outside, tmp_path: Path, *words: str) -> list[dict[str, str]]:
    """The cells of the report; what a reader sees first is in TABLES.md."""
    assert main(["report", *words, "--resamples", "100", "--output", str(tmp_path)]) == 0
    with (tmp_path / "tables.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cells_of(cells: Sequence[dict[str, str]], extension: Extension, section: str, column: str) -> list[str]:
    """The printed cells of a column; a table of several corpora names them beside the task."""
    beginning = "source open, "
    end = f"size {extension.size}, encoder bert "
    return [
        cell["printed"]
        for cell in cells
        if (cell["table"], cell["column"]) == (section, column)
        and cell["block"].startswith(beginning)
        and end in cell["block"]
        and extension.corpus in re.split("[ ;,]+", f"{cell['block']}; {cell['task']}")
    ]


def test_the_report_shows_every_run_with_its_gain(made: Outside, tmp_path: Path) -> None:
    cells = report(made, tmp_path, *OWN)
    for extension in EXTENSIONS.values():
        gains = [gain for gain in cells_of(cells, extension, extension.section, "Gain") if gain != "–"]
        assert gains and all(gain.startswith(("+", "-")) for gain in gains)
        assert all(" n = " in score for score in cells_of(cells, extension, "moods", "Here")[:2])
    published = {path.stem for path in (made.root / "results" / "records").rglob("*-s*.json")}
    assert {run for cell in cells for run in cell["runs"].split()} == published
    text = (tmp_path / "TABLES.md").read_text(encoding="utf-8")
    assert "not shown" not in text
    own = made.root / "mine"
    assert f"python run.py -m --config-dir {own} +experiment=moods task=mood data=open" in text
    assert "+experiment=sample_check task=ner data=open data.corpus=chess encoder=bert size=quick" in text


def test_without_the_directory_the_report_shows_the_runs_last(made: Outside, tmp_path: Path) -> None:
    cells = report(made, tmp_path)
    assert {cell["task"] for cell in cells if cell["table"] == "further"} == {"Moods"}
    assert cells_of(cells, EXTENSIONS["task"], "further", "Gain")
    text = (tmp_path / "TABLES.md").read_text(encoding="utf-8")
    warning = "- mood: no tests over examples, because task 'mood' is not installed; a task of your own needs"
    assert warning in text.partition("## ")[2].partition("## ")[0]


@every_extension
def test_its_runs_are_compared(name: str, made: Outside, capsys: Output) -> None:
    runs = made.runs(name)
    assert main(["compare", *OWN, str(runs[True]), str(runs[False])]) == 0
    assert "ELMo (bert) at input" in capsys.readouterr().out


@every_extension
def test_a_finished_run_is_restored(name: str, made: Outside, tmp_path: Path) -> None:
    run, target = made.runs(name)[False], tmp_path / "predictions.jsonl"
    words = [str(run), EXTENSIONS[name].data, "--output", str(target), "paths.data=mine/data"]
    assert main(["predict", *OWN, *words]) == 0
    assert target.read_bytes() == (run / "predictions-test.jsonl").read_bytes()


def test_a_run_is_not_restored_without_its_directory(made: Outside, capsys: Output) -> None:
    assert main(["predict", str(made.runs("task")[True]), TSV, "paths.data=mine/data"]) == 2
    error = capsys.readouterr().err
    assert "task.plugin=mood.MoodTask: no file of conf/task names this class" in error
    assert "--config-dir DIR" in error


def test_the_dashboard_has_the_experiment_and_the_task(tmp_path: Path) -> None:
    target = tmp_path / "dashboard.json"
    assert main(["dashboard", *OWN, "--source", "open", "--offline", "--output", str(target)]) == 0
    specification = json.loads(target.read_text(encoding="utf-8"))
    sections = [section["name"] for section in specification["workspace"]["sections"]]
    assert "Moods: which layers" in sections
    report = json.dumps(specification["report"])
    assert "Filled by `python run.py -m --config-dir " in report
    assert '{"text": "mood"}' in report


@every_extension
def test_it_is_validated(name: str, capsys: Output) -> None:
    words = EXTENSIONS["task" if name == "experiment" else name].words
    assert main(["validate", *OWN, *QUICK, *words]) == 0
    assert "bert: layers 0 to 2, 8 dimensions" in capsys.readouterr().out


def test_tasks_doctor_and_help_name_them(capsys: Output) -> None:
    assert main(["tasks", *OWN, "paths.data=mine/data", "mood", "ner"]) == 0
    listing = capsys.readouterr().out
    assert "mood  Moods  (mood.MoodTask)" in listing
    assert "chess" in listing and "here" in listing
    main(["doctor", *OWN])
    found = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["ok", "task", "mood", "mood.MoodTask"] in found
    assert ["ok", "encoder", "bert", "bert.Bert"] in found
    assert launch_runs("", ["--help", *OWN]) == 0
    help_text = capsys.readouterr().out
    assert all(f" {name}" in help_text for name in ("mood", "moods", "quick", "bert"))


def test_several_directories_are_read_and_named(made: Outside, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "runs").mkdir()
    assert main(["publish", "--config-dir", str(tmp_path), *OWN, f"paths.runs={tmp_path}"]) == 3
    given = f"--config-dir {tmp_path} --config-dir {made.root / 'mine'}"
    assert f"python run.py {given} task=ner makes one" in capsys.readouterr().err


def test_a_plug_in_that_cannot_be_loaded_is_a_problem(made: Outside, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "broken.yaml").write_text("name: broken\nplugin: no_such_module.Encoder\n")
    assert main(["doctor", "--config-dir", str(tmp_path)]) == 1
    problems = [line for line in capsys.readouterr().out.splitlines() if line.startswith("problem")]
    assert any("encoder broken" in line and "no_such_module" in line for line in problems)


def test_the_next_command_names_the_directory(made: Outside, tmp_path: Path, capfd: Output) -> None:
    assert launch(*MOOD, "elmo=none", "size=quick", f"paths.runs={tmp_path}") == 0
    (line,) = [line for line in capfd.readouterr().out.splitlines() if line.startswith("  next:")]
    assert f"python run.py --config-dir {made.root / 'mine'} paths.data=mine/data" in line


def test_a_language_model_is_trained_on_its_text(tmp_path: Path, capfd: Output) -> None:
    words = [*OWN, "finetune=mood", "data=open", "paths.data=mine/data", "plan=true"]
    assert launch_training("", [*words, f"paths.models={tmp_path}"]) == 0
    assert "1 of fine-tuning on mood" in capfd.readouterr().out


def test_neighbours_are_sought_in_its_text(capsys: Output) -> None:
    words = ["bring", "--corpus", "mood/mood", "--encoder", "bert", "paths.data=mine/data", "--json"]
    assert main(["neighbours", *OWN, *words]) == 0
    assert json.loads(capsys.readouterr().out)["encoder"] == "bert"


def test_processes_of_a_parallel_sweep_know_the_directory(tmp_path: Path, capfd: Output) -> None:
    launcher = ("hydra/launcher=parallel", "hydra.launcher.n_jobs=2")
    words = (*MOOD, "elmo=none", "seed=1,2", "size=quick", f"paths.runs={tmp_path}")
    assert launch("-m", *launcher, *words) == 0
    assert "2 of 2 jobs done" in capfd.readouterr().out
