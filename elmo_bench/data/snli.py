"""SNLI: sentence pairs as one JSON object per line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elmo_bench.data.json_values import parse_json
from elmo_bench.data.lines import read_lines, require_any

LABELS = ("entailment", "neutral", "contradiction")
NO_LABEL = "-"


@dataclass(frozen=True)
class SentencePair:
    """A premise and a hypothesis in their original form, and the relation between them."""

    line: int
    premise: str
    hypothesis: str
    label: str


@dataclass(frozen=True)
class SnliFile:
    """The pairs with a gold label, and the number of other pairs."""

    pairs: tuple[SentencePair, ...]
    unlabelled: int  # gold_label "-"
    blank: int  # premise or hypothesis without a word


def read_snli(path: Path) -> SnliFile:
    """The pairs of a file; those without a label or without words are dropped and counted."""
    pairs, unlabelled, blank = [], 0, 0
    for number, line in require_any(path, read_lines(path), "sentence pair"):
        if not line.strip():
            continue
        row = parse_json(path, number, line)
        label, premise, hypothesis = (row[key].text() for key in ("gold_label", "sentence1", "sentence2"))
        if label == NO_LABEL:
            unlabelled += 1
        elif label not in LABELS:
            raise row["gold_label"].error(f"one of {', '.join(LABELS)} or -", repr(label))
        elif not premise.strip() or not hypothesis.strip():
            blank += 1
        else:
            pairs.append(SentencePair(number, premise, hypothesis, label))
    return SnliFile(tuple(require_any(path, pairs, "labelled sentence pair")), unlabelled, blank)
