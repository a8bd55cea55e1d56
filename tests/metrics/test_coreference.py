"""Coreference counts against their definitions, by brute force over every pair of small clusterings."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations

import pytest

from elmo_bench.metrics.coreference import Mention, count_coreference, drop_repeated, score_coreference

Clustering = tuple[tuple[Mention, ...], ...]
MENTIONS: list[Mention] = [(0, 1), (1, 2), (2, 5), (4, 5)]


def clusterings(mentions: list[Mention]) -> Iterator[Clustering]:
    """Every way to leave out some mentions and to put the others into chains."""
    if not mentions:
        yield ()
        return
    first, rest = mentions[0], mentions[1:]
    for chains in clusterings(rest):
        yield chains
        yield ((first,), *chains)
        for index, chain in enumerate(chains):
            yield (*chains[:index], (first, *chain), *chains[index + 1 :])


ALL = list(clusterings(MENTIONS))


def muc_recall(key: Clustering, response: Clustering) -> tuple[int, int]:
    kept = 0
    for chain in key:
        cuts = {next((n for n, other in enumerate(response) if m in other), (m, "alone")) for m in chain}
        kept += len(chain) - len(cuts)
    return kept, sum(len(chain) - 1 for chain in key)


def b_cubed_recall(key: Clustering, response: Clustering) -> tuple[Fraction, int]:
    shares = [
        Fraction(len(set(chain) & set(other)), len(chain))
        for chain in key
        for mention in chain
        for other in response
        if mention in other
    ]
    return sum(shares, Fraction(0)), sum(map(len, key))


def ceaf_best(key: Clustering, response: Clustering) -> Fraction:
    few, many = sorted((key, response), key=len)
    return max(
        sum(
            (Fraction(2 * len(set(a) & set(b)), len(a) + len(b)) for a, b in zip(few, order, strict=False)),
            Fraction(0),
        )
        for order in permutations(many, len(few))
    )


def test_counts_are_the_definitions_for_every_pair_of_clusterings() -> None:
    for key in ALL:
        for response in ALL:
            counts = count_coreference(key, response)
            for metric, measure in (("muc", muc_recall), ("bcub", b_cubed_recall)):
                recall, precision = measure(key, response), measure(response, key)
                ours = [counts[f"{metric}_{part}"] for part in ("recall_num", "recall_den")]
                assert ours == pytest.approx([float(number) for number in recall], abs=1e-12)
                ours = [counts[f"{metric}_{part}"] for part in ("precision_num", "precision_den")]
                assert ours == pytest.approx([float(number) for number in precision], abs=1e-12)
            best = float(ceaf_best(key, response))
            assert (
                counts["ceafe_recall_num"] == counts["ceafe_precision_num"] == pytest.approx(best, abs=1e-12)
            )
            assert (counts["ceafe_recall_den"], counts["ceafe_precision_den"]) == (len(key), len(response))


def test_scores_come_from_sums_over_documents() -> None:
    a, b, c = MENTIONS[:3]
    rows = [count_coreference([[a, b]], [[a, b]]), count_coreference([[a, b, c]], [[a, b]])]
    scores = score_coreference(rows)
    assert scores["muc_recall"] == pytest.approx(100 * 2 / 3)
    assert scores["muc_precision"] == 100
    assert scores["bcub_recall"] == pytest.approx(100 * (2 + 4 / 3) / 5)
    mean = (scores["muc_f1"] + scores["bcub_f1"] + scores["ceafe_f1"]) / 3
    assert scores["average_f1"] == pytest.approx(mean)


def test_nothing_at_all_scores_zero() -> None:
    assert set(score_coreference([count_coreference([], [])]).values()) == {0}


def test_a_repeated_mention_of_the_key_stays_in_its_first_chain() -> None:
    a, b, c = MENTIONS[:3]
    assert drop_repeated([[a, b]], [[a, c], [c, a, b], [a]]) == [[a, c], [c, b], []]
    assert count_coreference([[a]], [[a], [a]])["ceafe_precision_den"] == 1
