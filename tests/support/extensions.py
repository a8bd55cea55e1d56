"""What somebody outside the repository has: the files of docs/EXTENDING.md, their data and a model."""

from __future__ import annotations

import string
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizer

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


def write_extensions(root: Path) -> None:
    """The page's files, corpora of a few sentences, and a tiny BERT."""
    for block in code_blocks(PAGE):
        if block.info:
            _write(root / block.info, block.text)
    for split, offset in SPLITS.items():
        _write(root / "mine" / "data" / "mood" / f"{split}.tsv", "".join(_moods(offset)))
        _write(root / "mine" / "data" / "chess" / f"{split}.conll", "\n".join(_chess(offset)))
    _write_bert(root / "mine" / "models" / "bert")


def _write_bert(directory: Path) -> None:
    """A BERT with random weights that reads words letter by letter."""
    letters = [*string.ascii_letters, *string.punctuation]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    torch.manual_seed(1)
    sizes = BertConfig(
        vocab_size=len(pieces),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    BertModel(sizes).save_pretrained(directory)
    numbered = {piece: number for number, piece in enumerate(pieces)}
    BertTokenizer(vocab=numbered, do_lower_case=False).save_pretrained(directory)


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
