"""Every command of README.md is run, and its numbers are those of the records."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from elmo_bench.conditions import is_baseline
from elmo_bench.records import read_record
from tests.conftest import PROJECT
from tests.support.commands import command_lines, run_command
from tests.support.markdown import code_blocks, read_page, table_rows
from tests.support.tiny_transformers import save_tiny

README = read_page("README.md")
COMMANDS = [
    line for block in code_blocks("README.md") if block.language == "bash" for line in command_lines(block)
]
INSTALL = "python3 -m venv .venv && .venv/bin/pip install -q -c constraints.txt -e "
FIRST = "python run.py task=ner elmo.lambda=0.001"

# What makes a command quick: a few examples, two epochs, a biLM that learns nothing of use.
QUICK = ("debug=fast", "bilm@encoder.bilm=tiny")
TINY_TEXT = ("bilm.steps=4", "bilm.epochs=null", "bilm.products=float32", "bilm.storage=float32")


@dataclass(frozen=True)
class Recipe:
    """How a command of the README is tried out."""

    more: tuple[str, ...] = ()  # appended overrides
    instead: tuple[tuple[str, str], ...] = ()  # words to put in the place of others
    expected: str = ""  # part of its output
    here: bool = False  # in the repository, because it reads the published records and writes nothing
    slow: bool = False


RECIPES = {
    FIRST: Recipe(QUICK, expected="layer weights"),
    "python run.py -m +experiment=table1 data=open encoder=small_long": Recipe(
        ("plan=true",), expected="48 runs", here=True
    ),
    "python -m elmo_bench summary --source open --gains --figure docs/gains.svg": Recipe(
        instead=(("docs/gains.svg", "{tmp}/gains.svg"),), expected="| NER (wikigold) |", here=True
    ),
    "python -m elmo_bench summary --source sample --task ner": Recipe(expected="ner on world", here=True),
    "python -m elmo_bench findings --source open --markdown": Recipe(expected="| verdict |", here=True),
    "python run.py -m task=ner elmo=none,paper seed=1,2,3": Recipe(QUICK, expected="6 of 6 jobs done"),
    "python run.py -m task=ner elmo=none,paper,last,first": Recipe(QUICK, expected="4 of 4 jobs done"),
    "python run.py task=ner data=files data.train=train.conll data.dev=dev.conll data.test=test.conll": (
        Recipe(("encoder=sample", "words=random", *QUICK), expected="ner on own")
    ),
    "python run.py task=ner encoder=model encoder.directory=DIR": Recipe(
        ("debug=fast",), instead=(("encoder.directory=DIR", "encoder.directory={model}"),), expected="gamma"
    ),
    "python run.py task=ner data=open encoder.context=document": Recipe(
        ("plan=true",), expected="1 runs:", here=True
    ),
    "python run.py task=ner encoder=transformer encoder.model=DIR": Recipe(
        ("debug=fast",), instead=(("encoder.model=DIR", "encoder.model={transformer}"),), expected="gamma"
    ),
    "python run.py task=ner elmo.where=both elmo.lambda=0.1": Recipe(QUICK, expected="ELMo at output"),
    "python run.py task=ner --cfg job": Recipe(expected="patience"),
    "python -m elmo_bench compare RUN RUN": Recipe(
        instead=(("RUN", "{baseline}"), ("RUN", "{elmo}")), expected="gain"
    ),
    "python run.py -m +experiment=encoders data=open task=ner,pos plan=true": Recipe(
        expected="elmo=none", here=True
    ),
    "python run.py -m +experiment=layers data=open encoder=small_long plan=true": Recipe(
        expected="elmo.layers=2", here=True
    ),
    "python run.py -m +experiment=table1 plan=true": Recipe(expected="48 runs"),
    "python run.py -m +experiment=table2 task=srl data=open": Recipe(
        ("plan=true",), expected="runs", here=True
    ),
    "python -m elmo_bench publish": Recipe(expected="4 new"),
    "python -m elmo_bench report": Recipe(("--resamples", "100"), expected="results/TABLES.md"),
    "python -m elmo_bench report --figures figures": Recipe(("--resamples", "100"), expected="figures: "),
    "python -m elmo_bench embed sentences.txt vectors.hdf5 encoder=small --workers 2": Recipe(
        instead=(("sentences.txt", "{sentences}"),), expected="wrote 2 sentences, 6 tokens, 3 layers"
    ),
    "python -m elmo_bench tasks": Recipe(expected="wikigold"),
    "python -m elmo_bench validate task=ner": Recipe(("bilm@encoder.bilm=tiny",), expected="ner"),
    "python -m elmo_bench doctor": Recipe(expected="python"),
    "python pretrain.py bilm=small corpus=DIR name=mine": Recipe(
        ("bilm.batches.tokens=256", *TINY_TEXT),
        instead=(("bilm=small", "bilm=tiny"), ("corpus=DIR", "corpus={text}")),
        expected="perplexity",
    ),
    "python pretrain.py encoder=small finetune=ner": Recipe(
        ("bilm.steps=2", "bilm.epochs=null", "data.limit=20"), expected="perplexity"
    ),
}


@dataclass(frozen=True)
class Sandbox:
    """A directory with what a reader has after the first runs."""

    root: Path
    places: dict[str, str]


@pytest.fixture(scope="module")
def sandbox(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """A baseline and its run with ELMo on the generated world, a model, and files of one's own."""
    root = tmp_path_factory.mktemp("readme")
    shutil.copytree(PROJECT / "results" / "models", root / "results" / "models")
    shutil.copytree(sample / "cache", root / "results" / "cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        sweep = ["python", "run.py", "-m", "task=ner", "elmo=none,paper", "bilm@encoder.bilm=tiny"]
        assert run_command([*sweep, "task.training.epochs=1"], patch) == 0
    (world,) = (root / "results" / "cache" / "world").glob("*/ner")
    for split in ("train", "dev", "test"):
        shutil.copy(world / f"{split}.conll", root / f"{split}.conll")
    (root / "text").mkdir()
    for name in ("train.txt", "heldout.txt"):
        lines = (world.parent / "text" / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (root / "text" / name).write_text("".join(lines[:200]), encoding="utf-8")
    (root / "two.txt").write_text("Mary sold the boat\nNo .\n")
    results = (root / "results" / "runs" / "ner").glob("*/result.json")
    baseline, elmo = sorted(results, key=lambda result: is_baseline(read_record(result)), reverse=True)
    places = {
        "tmp": str(root),
        "model": str(root / "results" / "models" / "small"),
        "transformer": str(save_tiny(root / "bert", "bert")),
        "text": str(root / "text"),
        "sentences": str(root / "two.txt"),
        "baseline": str(baseline.parent),
        "elmo": str(elmo.parent),
    }
    return Sandbox(root, places)


def tried(command: str, sandbox: Sandbox) -> list[str]:
    """The words of a command with what its recipe replaces and appends."""
    recipe = RECIPES[command]
    words = shlex.split(command)
    for before, after in recipe.instead:
        words[words.index(before)] = after.format(**sandbox.places)
    return [*words, *recipe.more]


def runnable(command: str) -> str:
    """The part of an installing line that a reader has after the installation."""
    return command.replace(f"{INSTALL}'.[hub,wandb]' && .venv/bin/", "")


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.startswith(f"{INSTALL}'.[dev]'")])
def test_every_command_runs(
    command: str,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = runnable(command)
    assert command in RECIPES, f"README has a command that no recipe of this file tries out: {command}"
    monkeypatch.chdir(PROJECT if RECIPES[command].here else sandbox.root)
    code = run_command(tried(command, sandbox), monkeypatch)
    output, errors = capfd.readouterr()
    assert code == 0, errors
    assert RECIPES[command].expected in output + errors


@pytest.mark.slow
def test_the_first_command_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(FIRST, monkeypatch) == 0
    assert "record: results/runs/ner/" in capfd.readouterr().out


def test_no_recipe_is_for_a_command_that_is_gone() -> None:
    assert set(RECIPES) - {runnable(command) for command in COMMANDS} == set()


def test_the_two_commands_install_with_constraints() -> None:
    """`.ci/run` finds the second line by its form, and the suite is what it runs."""
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv")]
    assert lines == [
        f"{INSTALL}'.[hub,wandb]' && .venv/bin/{FIRST}",
        f"{INSTALL}'.[dev]' && .venv/bin/python -m pytest",
    ]


def test_the_opening_says_what_the_table_of_gains_says() -> None:
    said = re.search(
        r"adds (\d) to (\d) points to five of the paper's six tasks \((.*?)\)\. The interval of the sixth,"
        r" ([\w-]+), contains 0\.",
        " ".join(README.partition("\n## ")[0].split()),
    )
    assert said
    rows = [row for row in table_rows(README) if len(row) == 6 and re.match(r"[+-]\d", row[4])]
    six = {row[0].partition(" (")[0]: row[4] for row in rows if "probe" not in row[0]}
    intervals = {task: [float(end) for end in re.findall(r"[+-][\d.]+", gain)] for task, gain in six.items()}
    clear = {task: gain for task, (gain, low, _) in intervals.items() if low > 0}
    (unclear,) = intervals.keys() - clear.keys()
    assert intervals[unclear][1] <= 0 <= intervals[unclear][2]
    assert set(re.split(", | and ", said[3])) == set(clear)
    assert (said[1], said[2], said[4]) == (
        f"{min(clear.values()):.0f}",
        f"{max(clear.values()):.0f}",
        unclear,
    )


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    (block,) = (block for block in code_blocks("README.md") if block.language == "python")
    names: dict[str, object] = {}
    exec(compile(block.text, "README.md", "exec"), names)
    (layers,) = names["layers"]  # type: ignore[misc]
    assert layers.shape[:2] == (3, 5)


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if "elmo_bench summary" in c or c.endswith("--markdown")]
)
def test_the_results_are_those_of_the_records(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(PROJECT)
    figure = tmp_path / "gains.svg"
    assert run_command(command.replace("docs/gains.svg", str(figure)), monkeypatch) == 0
    assert capsys.readouterr().out.strip() in README
    if "--figure" in command:
        assert figure.read_bytes() == (PROJECT / "docs" / "gains.svg").read_bytes()
