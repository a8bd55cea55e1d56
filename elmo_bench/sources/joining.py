"""Join the many files of a licensed download into the few that a task reads, and count what they hold."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.data.conll2003 import read_entities
from elmo_bench.data.conll2005 import read_props
from elmo_bench.data.conll2012 import read_documents
from elmo_bench.data.lines import open_bytes
from elmo_bench.files import atomic_file, is_plain_file
from elmo_bench.hashing import hash_file
from elmo_bench.types import DataError, DataMissingError, UsageError

Figures = dict[str, int]
"""How many of what a file holds."""

SECTIONS = [f"{number:02}" for number in range(2, 22)]  # of the Wall Street Journal, for training
PLACEHOLDER = "[WORD]"  # in OntoNotes' distribution for CoNLL-2012, instead of words


@dataclass(frozen=True)
class Joined:
    """One file to write."""

    path: str  # below paths.local
    patterns: tuple[tuple[str, ...], ...]  # of the files to join; the first group that is there counts
    published: Figures  # what the corpus is known to hold
    count: Callable[[Path], Figures] | None = None
    many: bool = False  # a pattern names a directory tree, and not one file


@dataclass(frozen=True)
class Recipe:
    """How one corpus is joined."""

    title: str
    files: tuple[Joined, ...]
    advice: str  # where the expected files come from


@dataclass(frozen=True)
class Written:
    """A file that was written."""

    line: str  # what it holds
    others: tuple[str, ...] = ()  # counts other than the published ones; none where these are not known


def count_entities(path: Path) -> Figures:
    """Sentences and tokens of CoNLL-2003 columns."""
    sentences = list(read_entities(path))
    return {"sentences": len(sentences), "tokens": sum(len(sentence.words) for sentence in sentences)}


def count_props(path: Path) -> Figures:
    """Sentences and predicates of CoNLL-2005 props."""
    sentences = list(read_props(path))
    predicates = sum(len(sentence.propositions) for sentence in sentences)
    return {"sentences": len(sentences), "predicates": predicates}


def count_documents(path: Path) -> Figures:
    """Documents of CoNLL-2012, each part of a long one by itself."""
    documents = 0
    for document in read_documents(path):
        first = document.sentences[0].words
        if first and set(first) == {PLACEHOLDER}:
            raise DataError(
                f"{path}:{document.line}: expected words, got {PLACEHOLDER}: the release holds no text; its "
                "script skeleton2conll.sh fills the words in from OntoNotes 5"
            )
        documents += 1
    return {"documents": documents}


def _ontonotes(split: str, *directories: str, documents: int) -> Joined:
    return Joined(
        f"conll2012/{split}.english.v4_gold_conll",
        tuple((f"**/{name}/data/english/annotations/**/*gold_conll",) for name in directories),
        {"documents": documents},
        count_documents,
        many=True,
    )


def _reuters(split: str, *names: str, sentences: int, tokens: int) -> Joined:
    patterns = tuple((f"**/{name}",) for name in names)
    figures = {"sentences": sentences, "tokens": tokens}
    return Joined(f"conll2003/{split}.conll", patterns, figures, count_entities)


def _props(name: str, stems: Iterable[str], sentences: int, predicates: int) -> tuple[Joined, Joined]:
    chosen = list(stems)
    words, props = (tuple(f"**/{stem}.{kind}*" for stem in chosen) for kind in ("words", "props"))
    figures = {"sentences": sentences, "predicates": predicates}
    return (
        Joined(f"conll2005/{name}.words", (words,), {}),
        Joined(f"conll2005/{name}.props", (props,), figures, count_props),
    )


RECIPES: Mapping[str, Recipe] = {
    "conll2003": Recipe(
        "CoNLL-2003, English",
        (
            _reuters("train", "eng.train", "train.txt", sentences=14041, tokens=203621),
            _reuters("dev", "eng.testa", "valid.txt", sentences=3250, tokens=51362),
            _reuters("test", "eng.testb", "test.txt", sentences=3453, tokens=46435),
        ),
        "the shared task's script makes eng.train, eng.testa and eng.testb from the Reuters Corpus",
    ),
    "conll2005": Recipe(
        "CoNLL-2005",
        (
            *_props("train", [f"train.{number}" for number in SECTIONS], 39832, 90750),
            *_props("dev", ["devel.24"], 1346, 3248),
            *_props("test.wsj", ["test.wsj"], 2416, 5267),
        ),
        "the shared task's release has the props; its scripts make the words of sections 2-21, 24 and 23 "
        "from the Penn Treebank",
    ),
    "conll2012": Recipe(
        "CoNLL-2012, English",
        (
            _ontonotes("train", "train", documents=2802),
            _ontonotes("dev", "development", documents=343),
            _ontonotes("test", "conll-2012-test", "test", documents=348),
        ),
        "the release's script skeleton2conll.sh makes the *_gold_conll files from its *_gold_skel files and "
        "OntoNotes 5 (LDC2013T19)",
    ),
}


def join(recipe: Recipe, source: Path, target: Path) -> list[Written]:
    """Write every file of a recipe, and count what each holds."""
    if not source.is_dir():
        raise DataMissingError(f"{source}: no such directory; {recipe.advice}")
    found = [(joined, find_files(joined, recipe, source)) for joined in recipe.files]
    missing = []
    for joined, paths in found:
        if not os.path.lexists(target / joined.path):
            missing.append((joined, paths))
        elif not is_joined(paths, target / joined.path):
            raise UsageError(
                f"{target / joined.path}: it is there already with other content; move it away to join it "
                "again"
            )
    for joined, paths in missing:
        with atomic_file(target / joined.path) as file:
            file.writelines(join_lines(paths))
    return [describe(joined, len(paths), target / joined.path) for joined, paths in found]


def find_files(joined: Joined, recipe: Recipe, source: Path) -> list[Path]:
    """The files to join, in the order of their patterns and then of their paths."""
    for group in joined.patterns:
        by_pattern = [sorted(path for path in source.glob(pattern) if path.is_file()) for pattern in group]
        if not any(by_pattern):
            continue
        for pattern, paths in zip(group, by_pattern, strict=True):
            if not paths:
                raise DataMissingError(f"{source / pattern}: no such file; {recipe.advice}")
            if len(paths) > 1 and not joined.many:
                raise UsageError(
                    f"{source}: expected one file {pattern}, got {', '.join(map(str, paths))}; name the "
                    "directory of one release"
                )
        return [path for paths in by_pattern for path in paths]
    wanted = " or ".join(group[0] for group in joined.patterns)
    raise DataMissingError(f"{source}: expected files {wanted}, got none; {recipe.advice}")


def is_joined(paths: Sequence[Path], target: Path) -> bool:
    """Whether a file holds what would be written: an earlier command has, and was killed later perhaps."""
    if not is_plain_file(target):
        return False
    digest = hashlib.sha256()
    for line in join_lines(paths):
        digest.update(line)
    return digest.hexdigest() == hash_file(target)


def join_lines(paths: Sequence[Path]) -> Iterator[bytes]:
    """The lines of plain or gzipped files, with a blank line between two files where there is none."""
    for path in paths:
        line = b"\n"
        with open_bytes(path) as file:
            for line in file:
                yield line
        if line.strip():
            yield b"\n" if line.endswith(b"\n") else b"\n\n"


def describe(joined: Joined, files: int, path: Path) -> Written:
    """What a file holds, and where that differs from what is published of it."""
    if joined.count is None:
        return Written(f"{path}: {files:,} files")
    counts = joined.count(path)
    found = [f"{counts[what]:,} {what}" for what in joined.published]
    others = [
        f"{path}: expected {number:,} {what}, found {counts[what]:,}"
        for what, number in joined.published.items()
        if counts[what] != number
    ]
    verdict = "NOT as published" if others else "as published"
    return Written(f"{path}: {files:,} files, {', '.join(found)}: {verdict}", tuple(others))


def require_published(recipe: Recipe, written: Iterable[Written]) -> None:
    """Refuse files whose counts are not those that are published; they stay where they are."""
    if others := [other for one in written for other in one.others]:
        raise DataError(
            "\n".join(
                [
                    f"this is not {recipe.title} as it is published:",
                    *others,
                    "the files stay written, and runs can read them, but their scores cannot be compared "
                    f"with published ones. Check whether the download is whole: {recipe.advice}. Then remove "
                    "the files and repeat the command",
                ]
            )
        )
