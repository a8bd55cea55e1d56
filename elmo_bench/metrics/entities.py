"""Named entities: a chunk counts when its type and both borders agree (conlleval, 2004-01-26)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from elmo_bench.data.tags import Chunk, chunks_of
from elmo_bench.metrics.ratios import percentage, score_matches, sum_counts
from elmo_bench.types import Counts, Scores

# Counts of one type are named `tp:PER`, its scores `f1:PER`.
TYPE = ":"


def count_entities(gold: Sequence[str], predicted: Sequence[str]) -> Counts:
    """Chunks and tokens of one sentence, from two tag sequences of any scheme, legal or not."""
    if len(gold) != len(predicted):
        raise ValueError(f"expected as many predicted tags as gold ones ({len(gold)}), got {len(predicted)}")
    gold_chunks, predicted_chunks = set(chunks_of(gold)), set(chunks_of(predicted))
    counts: Counts = {
        "tp": len(gold_chunks & predicted_chunks),
        "predicted": len(predicted_chunks),
        "gold": len(gold_chunks),
        "tokens": len(gold),
        "correct_tokens": sum(map(str.__eq__, gold, predicted)),
    }
    _count_by_type(counts, "tp", gold_chunks & predicted_chunks)
    _count_by_type(counts, "predicted", predicted_chunks)
    _count_by_type(counts, "gold", gold_chunks)
    return counts


def _count_by_type(counts: Counts, name: str, chunks: Iterable[Chunk]) -> None:
    for chunk in chunks:
        key = f"{name}{TYPE}{chunk.label}"
        counts[key] = counts.get(key, 0) + 1


def entity_types(counts: Counts) -> list[str]:
    """The types that were annotated or predicted, in alphabetical order."""
    named = (name.split(TYPE, 1) for name in counts if name.startswith((f"gold{TYPE}", f"predicted{TYPE}")))
    return sorted({label for _, label in named})


def score_entities(counts: Iterable[Counts]) -> Scores:
    """Precision, recall and F1 over all chunks and per type, and the accuracy of tokens."""
    total = sum_counts(counts)
    scores = score_matches(total.get("tp", 0), total.get("predicted", 0), total.get("gold", 0))
    scores["accuracy"] = percentage(total.get("correct_tokens", 0), total.get("tokens", 0))
    for label in entity_types(total):
        of_type = (total.get(f"{name}{TYPE}{label}", 0) for name in ("tp", "predicted", "gold"))
        scores |= {f"{name}{TYPE}{label}": value for name, value in score_matches(*of_type).items()}
    return scores
