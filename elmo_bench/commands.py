"""Spell the commands of this project for a clone or an installation, with the user's directories."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from elmo_bench.directories import own_directories

CLONE = Path(__file__).resolve().parents[1]
PROGRAM = "elmo-bench"
INSTALLED = {  # by the command of a clone
    "python run.py": f"{PROGRAM} run",
    "python pretrain.py": f"{PROGRAM} pretrain",
    "python -m elmo_bench": PROGRAM,
}


def name_commands(text: str) -> str:
    """Replace the commands of a clone in a text by those of this installation."""
    if not _in_clone():
        for of_a_clone, installed in INSTALLED.items():
            text = text.replace(of_a_clone, installed)
    return text


def spell_run(words: Sequence[str], sweep: bool = False) -> str:
    """`python run.py ...` in a clone, `elmo-bench run ...` elsewhere; a sweep has -m."""
    program = ["python", "run.py"] if _in_clone() else [PROGRAM, "run"]
    return shlex.join([*program, *(["-m"] if sweep else []), *_directories(), *words])


def spell_command(name: str, words: Sequence[str] = ()) -> str:
    """`python -m elmo_bench NAME ...` in a clone, `elmo-bench NAME ...` elsewhere."""
    program = ["python", "-m", "elmo_bench"] if _in_clone() else [PROGRAM]
    return shlex.join([*program, name, *_directories(), *words])


def spell_install(extra: str) -> str:
    """The command that installs the packages of an extra."""
    if _in_clone():
        return f"pip install -c constraints.txt -e '.[{extra}]'"
    return f"pip install '{PROGRAM}[{extra}]'"


def _in_clone() -> bool:
    """Whether the scripts exist and the user did not call the installed command."""
    return (CLONE / "run.py").is_file() and Path(sys.argv[0]).stem != PROGRAM


def _directories() -> list[str]:
    return [word for directory in own_directories() for word in ("--config-dir", str(directory))]
