"""`python -m elmo_bench score`: the official score of anybody's predictions, as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_bench.data.conll2003 import read_scored
from elmo_bench.metrics.entities import count_entities, entity_types, score_entities
from elmo_bench.metrics.ratios import sum_counts

HELP = "score a file of predictions as the official scorer of its task does"
EXAMPLE = "python -m elmo_bench score ner tagged.txt"


def configure(parser: argparse.ArgumentParser) -> None:
    """One sub-command per kind of prediction."""
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    ner = kinds.add_parser("ner", help="conlleval's figures for columns `word gold predicted`")
    ner.add_argument("tagged", type=Path, metavar="TAGGED")
    ner.set_defaults(figures=lambda arguments: ner_figures(arguments.tagged))


def run(arguments: argparse.Namespace) -> None:
    """Print the figures."""
    print(json.dumps(arguments.figures(arguments), indent=1, ensure_ascii=False))


def ner_figures(tagged: Path) -> dict[str, Any]:
    """What conlleval prints, to its two decimals, and the numbers of chunks behind it."""
    rows = [count_entities(sentence.gold, sentence.predicted) for sentence in read_scored(tagged)]
    counts, scores = sum_counts(rows), score_entities(rows)

    def figures(suffix: str) -> dict[str, float]:
        of_type = {name: round(scores[name + suffix], 2) for name in ("precision", "recall", "f1")}
        for figure, name in (("correct", "tp"), ("predicted", "predicted"), ("gold", "gold")):
            of_type[figure] = int(counts.get(name + suffix, 0))
        return of_type

    overall: Mapping[str, float] = figures("")
    return {
        **overall,
        "accuracy": round(scores["accuracy"], 2),
        "tokens": int(counts["tokens"]),
        "types": {label: figures(f":{label}") for label in entity_types(counts)},
    }
