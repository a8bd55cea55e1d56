"""Coreference: MUC, B³ and CEAF-φ4 as the reference scorer v8.01 counts them (Pradhan et al. 2014)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from elmo_bench.metrics.ratios import harmonic_mean, percentage, sum_counts
from elmo_bench.types import Counts, Scores

Mention = tuple[int, int]
Clusters = Sequence[Sequence[Mention]]
METRICS = ("muc", "bcub", "ceafe")
PARTS = ("recall_num", "recall_den", "precision_num", "precision_den")


def count_coreference(key: Clusters, response: Clusters) -> Counts:
    """Numerators and denominators of one document; mentions match if both boundaries agree."""
    response = drop_repeated(key, response)
    rows = {"muc": _count_muc, "bcub": _count_b_cubed, "ceafe": _count_ceaf}
    return {
        f"{metric}_{part}": float(number)
        for metric, count in rows.items()
        for part, number in zip(PARTS, count(key, response), strict=True)
    }


def drop_repeated(key: Clusters, response: Clusters) -> Clusters:
    """The response as cleaned by the scorer: a mention of the key is kept in the first chain that has it."""
    in_key = {mention for cluster in key for mention in cluster}
    seen: set[Mention] = set()
    cleaned = []
    for cluster in response:
        kept = []
        for mention in cluster:
            if mention not in seen:
                kept.append(mention)
            if mention in in_key:
                seen.add(mention)
        cleaned.append(kept)
    return cleaned


def _chain_of(clusters: Clusters) -> dict[Mention, int]:
    return {mention: chain for chain, cluster in enumerate(clusters) for mention in cluster}


def _count_muc(key: Clusters, response: Clusters) -> tuple[float, float, float, float]:
    """Links of each chain that remain after partitioning it by the other side (Vilain et al. 1995)."""
    chain_of = _chain_of(key)
    shared = [Counter(chain_of[mention] for mention in chain if mention in chain_of) for chain in response]
    links = sum(number - 1 for chain in shared for number in chain.values())
    return links, _count_links(key), links, _count_links(response)


def _count_links(clusters: Clusters) -> int:
    return sum(len(cluster) - 1 for cluster in clusters if cluster)


def _count_b_cubed(key: Clusters, response: Clusters) -> tuple[float, float, float, float]:
    """Per mention, the fraction of its chain that the other side shares (Bagga and Baldwin 1998)."""
    chain_of = _chain_of(key)
    chains = [set(cluster) for cluster in key]
    recall = precision = 0.0
    for cluster in response:
        for mention in cluster:
            if mention in chain_of:
                chain = chain_of[mention]
                common = sum(other in chains[chain] for other in cluster)
                precision += common / len(cluster)
                recall += common / len(key[chain])
    return recall, sum(map(len, key)), precision, sum(map(len, response))


def _count_ceaf(key: Clusters, response: Clusters) -> tuple[float, float, float, float]:
    """The best one-to-one alignment of chains by 2 |K ∩ R| / (|K| + |R|) (Luo 2005, φ4)."""
    key, response = ([cluster for cluster in clusters if cluster] for clusters in (key, response))
    similarity = np.zeros((len(key), len(response)))
    for row, chain in enumerate(map(set, key)):
        for column, cluster in enumerate(response):
            common = sum(mention in chain for mention in cluster)
            similarity[row, column] = 2 * common / (len(key[row]) + len(cluster))
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    # The scorer minimises 1 - φ and sums 1 minus that, which differs only by rounding errors.
    total = sum(1 - (1 - value) for value in similarity[rows, columns].tolist())
    return total, len(key), total, len(response)


def score_coreference(counts: Iterable[Counts]) -> Scores:
    """Precision, recall and F1 of each metric over summed counts, and the mean F1 as `average_f1`."""
    total = sum_counts(counts)
    scores: Scores = {}
    for metric in METRICS:
        numbers = (total.get(f"{metric}_{part}", 0) for part in PARTS)
        recall_num, recall_den, precision_num, precision_den = numbers
        recall, precision = percentage(recall_num, recall_den), percentage(precision_num, precision_den)
        scores |= {f"{metric}_recall": recall, f"{metric}_precision": precision}
        scores[f"{metric}_f1"] = harmonic_mean(precision, recall)
    scores["average_f1"] = sum(scores[f"{metric}_f1"] for metric in METRICS) / len(METRICS)
    return scores
