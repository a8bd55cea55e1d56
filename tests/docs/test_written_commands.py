"""Every command that a comment, a page, a help text or a docstring writes is accepted as it is written.

A command ends at the closing backtick; without backticks at two blanks, at a comment or with its line.
Nothing is run: the words of run.py and pretrain.py are composed into jobs, those of the other commands are
parsed. DIR, FILE and RUN are paths like any other. A word that stands for a choice is replaced by one
(`STAND_FOR`), and "..." is left out.
"""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.embed import choose_overrides
from elmo_bench.cli.main import COMMANDS as CLI
from elmo_bench.cli.main import read_command
from elmo_bench.cli.neighbours import USUAL_ENCODER
from elmo_bench.cli.scale import DEFAULTS
from elmo_bench.config import RunConfig, read_config
from elmo_bench.directories import add_directory
from elmo_bench.sweep import arguments as script_arguments
from elmo_bench.sweep.compose import MACHINE, Composer, open_composer
from elmo_bench.sweep.jobs import SweepConfig, list_jobs
from elmo_bench.sweep.keys import drop_foreign_keys
from elmo_bench.sweep.launch import read_sweep, select
from elmo_bench.sweep.scripts import RUNS, TRAININGS
from elmo_bench.types import BenchError, UsageError
from tests.conftest import PROJECT
from tests.support.extensions import PAGE, fresh_process, install_package
from tests.support.markdown import PAGES, code_blocks

SCRIPTS = {"run.py": RUNS, "pretrain.py": TRAININGS}
COMMAND = (
    r"(?:python )?(?:run|pretrain)\.py (?=--?[a-z-]+ |[+~]?[\w./@]+=)|python -m elmo_bench (?=[a-z]|--help)"
)
IN_BACKTICKS = re.compile(rf"`((?:{COMMAND})[^`]+)`")
BARE = re.compile(rf"((?:{COMMAND}).*?)(?=  | #|`|\)?$)", re.MULTILINE)
STAND_FOR = {
    "+experiment=NAME": "+experiment=table1",
    "finetune=TASK": "finetune=ner",
    "encoder=ENCODER": "encoder=small",
    "encoder=NAME": "encoder=small",
}


def texts() -> Iterator[tuple[str, str]]:
    """Every text of the project that may contain commands, with its file."""
    for page in (*PAGES, "examples/flair_encoder/README.md"):
        yield page, (PROJECT / page).read_text(encoding="utf-8")
    for path in sorted((PROJECT / "conf").rglob("*.yaml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        yield str(path.relative_to(PROJECT)), "\n".join(re.sub(r"^\s*# ?", "", line) for line in lines)
    for name in ("elmo_bench", "tasks"):
        for path in sorted((PROJECT / name).rglob("*.py")):
            for text in strings(ast.parse(path.read_text(encoding="utf-8"))):
                yield str(path.relative_to(PROJECT)), text


def strings(node: ast.AST) -> Iterator[str]:
    """All strings of a module; those with values to fill in are messages, which name no complete command."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


def find_commands(text: str) -> Iterator[str]:
    """The commands of a text, with blanks in the place of line ends."""
    joined = re.sub(r"\\\n\s*", "", text)
    fenced = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    prose = fenced.sub("", joined)
    for found in IN_BACKTICKS.finditer(prose):
        yield " ".join(found[1].split())
    for part in (*fenced.findall(joined), IN_BACKTICKS.sub("", prose)):
        for found in BARE.finditer(part):
            yield found[1].strip()


def written_commands() -> dict[str, str]:
    """Every command once, with the first file that writes it."""
    found: dict[str, str] = {}
    for file, text in texts():
        for command in find_commands(text):
            found.setdefault(command, file)
    return found


COMMANDS = written_commands()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the pages tell a reader to write, the examples, and the models of a clone."""
    root = tmp_path_factory.mktemp("written")
    for page in (PAGE, "docs/TUTORIAL.md"):
        for block in code_blocks(page):
            if block.info:
                (root / block.info).parent.mkdir(parents=True, exist_ok=True)
                (root / block.info).write_text(block.text, encoding="utf-8")
    install_package(root)
    shutil.copytree(PROJECT / "examples", root / "examples")
    (root / "results").mkdir()
    (root / "results" / "models").symlink_to(PROJECT / "results" / "models")
    return root


@pytest.fixture(scope="module")
def composer(request: pytest.FixtureRequest, root: Path) -> Iterator[Composer]:
    """As in a new process with the directories of a command; commands with the same ones share it."""
    with fresh_process(root, *([] if request.param else [root / "installed"])):
        for directory in request.param:
            add_directory(Path(directory))
        with open_composer() as composer:
            yield composer


def accept_script(composer: Composer, script: str, words: Sequence[str]) -> None:
    """Compose jobs of a command line of run.py or pretrain.py, such that every word is in one."""
    found = script_arguments.read_arguments(words)
    if found.help:
        return
    composer.refuse_repeated(found.overrides)
    primary, overrides = select(SCRIPTS[script], composer, found.overrides)
    jobs = [overrides]
    if found.sweep:
        of_sweep = (word for word in overrides if word.startswith(("+experiment=", "hydra")))
        sweep = sweep_of(composer, primary, *of_sweep)
        primary = sweep.primary or primary
        jobs = some_jobs(composer, primary, sweep, overrides)
    kind = SCRIPTS[script].load(primary)
    for job in chain.from_iterable(kind.expand(job, leave_layers) for job in jobs):
        kind.read(composer.job_values(kind.primary, job))


@cache
def sweep_of(composer: Composer, primary: str, *words: str) -> SweepConfig:
    """What an experiment sweeps."""
    return read_sweep(composer, primary, words)


def leave_layers(job: list[str]) -> Any:
    """elmo.layers=each looks for the encoder to count its layers; without an answer it means layer 0."""
    raise BenchError("no encoder is looked for here")


def some_jobs(
    composer: Composer, primary: str, sweep: SweepConfig, overrides: Sequence[str]
) -> list[list[str]]:
    """Jobs that have all words of a command line; tests/sweep has the other jobs of the experiments."""
    typed = [one for one in composer.parse(overrides) if not one.is_hydra_override()]
    keys = {one.key_or_group for one in typed}
    seen: set[str] = set()
    chosen: list[list[str]] = []
    for job in list_jobs(composer.parse, sweep, [str(one.input_line) for one in typed]):
        new = {word for word in job if word.partition("=")[0] in keys} - seen
        if new or not chosen:
            seen |= new
            chosen.append(composer.translate(primary, job))
    assert chosen
    return drop_foreign_keys(composer, primary, chosen, lambda _: None)


def accept_command(composer: Composer, name: str, words: Sequence[str]) -> None:
    """Parse a command line of `python -m elmo_bench`, and compose its overrides as the command does."""
    assert name in CLI
    if not words:  # the name of a command
        return
    found = read_command(name, list(words))
    overrides = getattr(found, "overrides", [])
    if name == "validate":
        read_config(RunConfig, composer.values("config", overrides))
    elif name == "embed":
        composer.values("encode", choose_overrides(found))
    elif name == "neighbours":
        composer.values("neighbours", [f"encoder={found.encoder or USUAL_ENCODER}", *overrides])
    elif name == "scale":
        composer.values("pretrain", [*DEFAULTS, *overrides])
    elif overrides:
        composer.values(MACHINE, overrides)


def accept(command: str, composer: Composer) -> None:
    """Raise what a user would meet who types a command."""
    words = [STAND_FOR.get(word, word) for word in shlex.split(command) if word not in ("python", "...")]
    if words[0] in SCRIPTS:
        accept_script(composer, words[0], words[1:])
    elif words[-1] == "--help":
        assert words[2] in [*CLI, "--help"]
    else:
        accept_command(composer, words[2], words[3:])


def directories_of(command: str) -> tuple[str, ...]:
    """What a command adds with --config-dir."""
    return tuple(re.findall(r"--config-dir (\S+)", command))


@pytest.mark.parametrize(
    ("command", "composer"),
    [
        pytest.param(command, directories_of(command), id=f"{COMMANDS[command]}: {command}")
        for command in COMMANDS
    ],
    indirect=["composer"],
)
def test_a_written_command_is_accepted(
    command: str, composer: Composer, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        accept(command, composer)
    except UsageError as error:
        pytest.fail(f"{COMMANDS[command]}: {command}: {error}")
    except SystemExit:
        pytest.fail(f"{COMMANDS[command]}: {command}: {capsys.readouterr().err}")


def test_commands_are_found_in_every_kind_of_text() -> None:
    assert {Path(file).suffix for file in COMMANDS.values()} == {".md", ".yaml", ".py"}
    text = (
        "`python run.py task=ner\nseed=1`, `run.py`\n  .venv/bin/python pretrain.py \\\n bilm=tiny # what for"
    )
    assert list(find_commands(text)) == [
        "python run.py task=ner seed=1",
        "python pretrain.py bilm=tiny",
    ]


@pytest.mark.parametrize(
    ("command", "composer"),
    [
        ("python run.py task=ner elmo.lamda=1", ()),
        ("python pretrain.py finetune=TASK.", ()),
        ("python run.py -m +experiment=table1 elmo=las", ()),
        ("python -m elmo_bench compare A B --gian 1", ()),
        ("python -m elmo_bench publish paths.recods=DIR", ()),
        ("python -m elmo_bench prepare conll2012 DIR joins", ()),
    ],
    indirect=["composer"],
)
def test_a_mistyped_command_is_refused(command: str, composer: Composer) -> None:
    with pytest.raises((UsageError, SystemExit)):
        accept(command, composer)


@pytest.mark.parametrize("page", ["README.md", "docs/MACHINES.md"])
def test_a_written_training_does_not_take_the_directory_of_a_model_of_the_clone(page: str) -> None:
    """A clone has results/models/small, which a training of the same name with other text is refused for."""
    joined = (PROJECT / page).read_text(encoding="utf-8").replace("\\\n", "")
    written = [line for line in joined.splitlines() if "bilm=small corpus=DIR" in line]
    assert written and all(" name=mine" in line for line in written)
