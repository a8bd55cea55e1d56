"""What somebody outside the repository has: the files of docs/EXTENDING.md, their data and a model."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from elmo_bench import directories
from tests.support.markdown import code_blocks

PAGE = "docs/EXTENDING.md"
NAMES = ("anna", "omar", "lena", "ivan")
THINGS = ("boat", "door", "letter", "shop", "map", "bridge")
MOODS = {
    "question": ("did {name} see the {thing}", "where is the {thing}", "who sold {name} the {thing}"),
    "order": ("bring {name} the {thing}", "do not sell the {thing}", "look at the {thing}"),
    "statement": ("{name} saw the {thing}", "the {thing} is old", "{name} did not sell the {thing}"),
}
CHESS = ("{name} B-PER\nwon O\nin O\nParis B-LOC\n. O\n", "the O\n{thing} O\nis O\n{name} B-PER\n's O\n")
SPLITS = {"train": 0, "dev": 1, "test": 2}

STAND_IN = '''
"""The two classes of Hugging Face transformers that an encoder needs, with a model of a few numbers."""

from types import SimpleNamespace

import torch

WIDTH, LAYERS, WINDOW = 8, 2, 64


class AutoTokenizer:
    cls_token_id, sep_token_id, unk_token_id = 1, 2, 3

    @classmethod
    def from_pretrained(cls, directory):
        return cls()

    def encode(self, text, add_special_tokens):
        assert not add_special_tokens
        pieces = [text[start : start + 3] for start in range(0, len(text), 3)] if text.isprintable() else []
        return [4 + sum(map(ord, piece)) % 60 for piece in pieces]


class AutoModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.config = SimpleNamespace(max_position_embeddings=WINDOW)
        self.vectors = torch.randn(WINDOW, WIDTH, generator=torch.Generator().manual_seed(1))

    @classmethod
    def from_pretrained(cls, directory):
        return cls()

    def forward(self, ids, output_hidden_states):
        assert output_hidden_states and ids.shape[1] <= WINDOW
        states = [self.vectors[ids]]
        for _ in range(LAYERS):
            states.append(torch.tanh(states[-1] + states[-1].roll(1, dims=1)))
        return SimpleNamespace(hidden_states=tuple(states))
'''


def write_extensions(root: Path) -> None:
    """The page's files, corpora of a few sentences, and a stand-in for a BERT and its library."""
    for block in code_blocks(PAGE):
        if block.info:
            _write(root / block.info, block.text)
    for split, offset in SPLITS.items():
        _write(root / "mine" / "data" / "mood" / f"{split}.tsv", "".join(_moods(offset)))
        _write(root / "mine" / "data" / "chess" / f"{split}.conll", "\n".join(_chess(offset)))
    _write(
        root / "mine" / "models" / "bert" / "config.json",
        json.dumps({"num_hidden_layers": 2, "hidden_size": 8}),
    )
    _write(root / "library" / "transformers.py", STAND_IN)


def install_package(root: Path) -> Path:
    """The page's package as pip would install it, in a directory for sys.path."""
    project = tomllib.loads((root / "moods" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = root / "installed"
    _write(installed / "moods" / "__init__.py", "")
    for path in (root / "mine").rglob("*.py"):
        _write(installed / "moods" / path.name, path.read_text(encoding="utf-8"))
    for path in (root / "mine").rglob("*.yaml"):
        text = path.read_text(encoding="utf-8").replace("plugin: ", "plugin: moods.")
        _write(installed / "moods" / "conf" / path.relative_to(root / "mine"), text)
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    information = installed / f"moods-{project['version']}.dist-info"
    _write(information / "METADATA", f"Metadata-Version: 2.1\nName: moods\nVersion: {project['version']}\n")
    _write(information / "entry_points.txt", "\n".join(points))
    return installed


def _moods(offset: int) -> Iterator[str]:
    for number in range(offset, 15, 2 if offset else 1):
        for label, patterns in MOODS.items():
            pattern = patterns[number % len(patterns)]
            words = pattern.format(name=NAMES[number % len(NAMES)], thing=THINGS[number % len(THINGS)])
            yield f"{label}\t{words}\n"


def _chess(offset: int) -> Iterator[str]:
    for number in range(offset, 8):
        yield CHESS[number % 2].format(name=NAMES[number % 4].title(), thing=THINGS[number % 6])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@contextmanager
def fresh_process(root: Path, *libraries: Path) -> Iterator[None]:
    """As a new process in a directory: none of one's own is registered and no module of it imported."""
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr(directories, "_own", [])
        patch.setattr(sys, "path", [*map(str, libraries), *sys.path])
        directories.installed_directories.cache_clear()
        try:
            yield
        finally:
            directories.installed_directories.cache_clear()
            for name in set(sys.modules) - known:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(str(root)):
                    del sys.modules[name]
