"""Semantic roles: the arguments of a predicate as srl-eval.pl counts them (CoNLL-2005, 2005-04-21)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elmo_bench.data.tags import Chunk
from elmo_bench.metrics.matches import count_matches, score_matches
from elmo_bench.metrics.ratios import percentage, sum_counts
from elmo_bench.types import Counts, Scores

VERB = "V"
CONTINUATION = "C-"
Span = tuple[int, int]


@dataclass
class Argument:
    """One argument; it has several pieces if it is discontinuous or contains other phrases."""

    label: str
    start: int
    end: int
    pieces: list[Span]

    def matches(self, gold: Argument) -> bool:
        """Whether label, boundaries and pieces equal those of a gold argument."""
        same_borders = (self.label, self.start, self.end) == (gold.label, gold.start, gold.end)
        return same_borders and sorted(self.pieces) == sorted(gold.pieces)


def count_arguments(gold: Sequence[Chunk], predicted: Sequence[Chunk]) -> Counts:
    """Arguments of one proposition; `V` is counted under its label and left out of the sums."""
    # The script keeps one gold argument per pair of outer boundaries, the last.
    unmatched = {(argument.start, argument.end): argument for argument in join_pieces(gold)}
    gold_labels = [argument.label for argument in unmatched.values()]
    predicted_arguments = join_pieces(predicted)
    correct = []
    for argument in predicted_arguments:
        found = unmatched.get((argument.start, argument.end))
        if found and argument.matches(found):
            correct.append(argument.label)
            del unmatched[argument.start, argument.end]
    predicted_labels = [argument.label for argument in predicted_arguments]
    counts = count_matches(correct, predicted_labels, gold_labels, excluded=frozenset({VERB}))
    is_perfect = counts["tp"] == counts["predicted"] == counts["gold"]
    return counts | {"propositions": 1, "perfect": int(is_perfect)}


def join_pieces(chunks: Iterable[Chunk]) -> list[Argument]:
    """Arguments from phrases: C-X continues the last X before it, or is an X itself if there is none."""
    ordered = sorted(chunks, key=lambda chunk: (chunk.start, -chunk.end))
    # Of phrases with equal boundaries the inner one is kept.
    phrases = {(chunk.start, chunk.end): chunk for chunk in ordered}
    arguments: list[Argument] = []
    latest: dict[str, Argument] = {}
    for phrase, inside in zip(phrases.values(), _direct_parts(list(phrases)), strict=True):
        label = phrase.label.removeprefix(CONTINUATION)
        begun = latest.get(label) if label != phrase.label else None
        if begun:
            begun.pieces = [*(begun.pieces or [(begun.start, begun.end)]), (phrase.start, phrase.end)]
            begun.end = phrase.end
            continue
        latest[label] = Argument(label, phrase.start, phrase.end, inside)
        arguments.append(latest[label])
    return arguments


def _direct_parts(spans: Sequence[Span]) -> list[list[Span]]:
    """For each of the nested spans, outer before inner, its direct children."""
    parts: list[list[Span]] = [[] for _ in spans]
    enclosing: list[int] = []
    for index, (start, end) in enumerate(spans):
        while enclosing and spans[enclosing[-1]][1] <= start:
            enclosing.pop()
        if enclosing and end <= spans[enclosing[-1]][1]:
            parts[enclosing[-1]].append((start, end))
        enclosing.append(index)
    return parts


def score_arguments(counts: Iterable[Counts]) -> Scores:
    """Precision, recall and F1 without verbs, the same per label, and the percentage of perfect ones."""
    total = sum_counts(counts)
    perfect = percentage(total.get("perfect", 0), total.get("propositions", 0))
    return score_matches(total) | {"perfect_propositions": perfect}
