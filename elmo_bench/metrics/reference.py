"""The same scores by other libraries: an independent check, never the source of a reported number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import nan
from typing import TypeVar

from seqeval.metrics import accuracy_score as accuracy_of_tags
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.metrics import accuracy_score
from sklearn.metrics import recall_score as recall_of_labels

from elmo_bench.data.tags import split_tag
from elmo_bench.types import Scores

Answer = TypeVar("Answer", str, int)

TOLERANCE = 1e-9  # in percentage points; covers only a different order of summation
FIGURES = {"precision": precision_score, "recall": recall_score, "f1": f1_score}
BIOES = {"L": "E", "U": "S"}  # BIOUL is the same scheme with other letters; seqeval knows only BIOES


def entities_by_seqeval(gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> Scores:
    """Precision, recall and F1 over all chunks and per type, and the accuracy of tokens."""
    tags = [[[_in_bioes(tag) for tag in row] for row in rows] for rows in (gold, predicted)]
    labels = sorted({label for rows in tags for label, _, _ in get_entities(rows)})
    scores = {"accuracy": 100 * float(accuracy_of_tags(*tags))}
    for name, score in FIGURES.items():
        scores[name] = 100 * float(score(*tags, zero_division=0))
        of_labels = score(*tags, average=None, zero_division=0)
        scores |= {f"{name}:{label}": 100 * float(one) for label, one in zip(labels, of_labels, strict=True)}
    return scores


def _in_bioes(tag: str) -> str:
    prefix, label = split_tag(tag)
    return f"{BIOES[prefix]}-{label}" if prefix in BIOES else tag


def accuracy_by_sklearn(gold: Sequence[Answer], predicted: Sequence[Answer]) -> Scores:
    """The accuracy of all answers."""
    return {"accuracy": 100 * float(accuracy_score(gold, predicted))}


def label_accuracies_by_sklearn(gold: Sequence[Answer], predicted: Sequence[Answer]) -> Scores:
    """The accuracy of the answers with each gold label, which is the label's recall."""
    labels = sorted(set(gold))
    recalls = recall_of_labels(gold, predicted, labels=labels, average=None, zero_division=0)
    return {str(label): 100 * float(recall) for label, recall in zip(labels, recalls, strict=True)}


def differing(ours: Mapping[str, float], theirs: Mapping[str, float]) -> list[str]:
    """The names of the scores that differ or are missing on one side."""
    names = sorted(ours.keys() | theirs.keys())
    return [name for name in names if not abs(ours.get(name, nan) - theirs.get(name, nan)) <= TOLERANCE]
