"""Sentiment treebank: one bracketed tree per line, a label from 0 to 4 at every node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elmo_bench.data.lines import fault, read_lines, require_any, shown
from elmo_bench.types import Words

PIECE = re.compile(r"[()]|[^() \t]+")
LABELS = ("0", "1", "2", "3", "4")


class Phrase(NamedTuple):
    """A node: the words it spans, up to but not including `end`, and its label."""

    start: int
    end: int
    label: int


@dataclass(frozen=True)
class SentimentTree:
    """The words of a sentence exactly as in the tree, and all its nodes, parents before children."""

    line: int
    words: Words
    phrases: tuple[Phrase, ...]  # the first node is the whole sentence

    @property
    def label(self) -> int:
        """The sentiment of the whole sentence."""
        return self.phrases[0].label


def read_trees(path: Path) -> Iterator[SentimentTree]:
    """The trees of a file in order; blank lines do not count."""
    lines = ((number, line) for number, line in read_lines(path) if line.strip())
    for number, line in require_any(path, lines, "tree"):
        yield parse_tree(path, number, line)


def read_labels(path: Path) -> Iterator[int]:
    """Predicted labels, one per line, for the trees of another file."""
    lines = ((number, line.strip()) for number, line in read_lines(path) if line.strip())
    for number, line in require_any(path, lines, "label"):
        if line not in LABELS:
            raise fault(path, number, "a label from 0 to 4", shown(line))
        yield int(line)


def parse_tree(path: Path, number: int, line: str) -> SentimentTree:
    """The tree of one line; without recursion, so that depth does not matter."""
    words: list[str] = []
    nodes: list[list[int]] = []  # start, end and label of each
    opened: list[tuple[int, str]] = []  # index and content so far of every node whose bracket is open
    is_label = False
    for piece in PIECE.findall(line):
        node, content = opened[-1] if opened else (-1, "")
        if is_label:
            if piece not in LABELS:
                raise fault(path, number, "a label from 0 to 4 after (", shown(piece))
            nodes[node][2] = int(piece)
            is_label = False
        elif piece == "(":
            if content == "word" or (nodes and not opened):
                raise fault(path, number, ") after a word" if opened else "one tree per line", "another (")
            opened[-1:] = [(node, "nodes")] if opened else []
            opened.append((len(nodes), ""))
            nodes.append([len(words), -1, -1])
            is_label = True
        elif not opened or (piece == ")") != bool(content):
            raise fault(path, number, "each node to hold one word or other nodes", shown(piece))
        elif piece == ")":
            nodes[node][1] = len(words)
            opened.pop()
        else:
            words.append(piece)
            opened[-1] = (node, "word")
    if opened:
        raise fault(path, number, "all brackets closed", f"{len(opened)} open at the end of the line")
    return SentimentTree(number, tuple(words), tuple(Phrase(*node) for node in nodes))
