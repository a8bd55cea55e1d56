"""`python -m elmo_bench conll`: predicted chains as columns for the reference scorer."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from elmo_bench.data.coreference import (
    Cluster,
    CoreferenceDocument,
    Mention,
    read_coreference,
    write_coreference,
)
from elmo_bench.data.json_values import JsonValue, parse_json
from elmo_bench.data.lines import read_lines
from elmo_bench.files import atomic_path
from elmo_bench.types import DataError

HELP = "put the chains of a run's predictions into the documents of a CoNLL-2012 file"
EXAMPLE = (
    "python -m elmo_bench conll key.conll results/runs/coref/0123abcd4567-s1/predictions-test.jsonl "
    "response.conll\n"
    "  scorer.pl muc key.conll response.conll none"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Gold, predictions, and the file to write."""
    parser.add_argument("key", type=Path, metavar="KEY", help="the gold file of the same split")
    parser.add_argument(
        "predictions", type=Path, metavar="PREDICTIONS", help="predictions-test.jsonl of a run"
    )
    parser.add_argument("response", type=Path, metavar="RESPONSE", help="the file to write")


def run(arguments: argparse.Namespace) -> None:
    """Write the response."""
    documents = list(responses(arguments.key, arguments.predictions))
    with atomic_path(arguments.response) as path:
        write_coreference(path, documents)
    print(f"{arguments.response}: {len(documents):,} documents")


def responses(key: Path, predictions: Path) -> Iterator[CoreferenceDocument]:
    """Every document of the key with the predicted chains instead of the gold ones."""
    found = {
        row["id"].text(): row["prediction"]
        for number, line in read_lines(predictions)
        for row in [parse_json(predictions, number, line)]
    }
    for document in read_coreference(key):
        if document.id not in found:
            raise DataError(
                f"{predictions}: expected a line for the document {document.id} of {key}, got none"
            )
        length = sum(map(len, document.sentences))
        yield replace(document, clusters=read_clusters(found.pop(document.id), length))
    for name in found:
        raise DataError(f"{predictions}: expected only documents of {key}, got {name} too")


def read_clusters(prediction: JsonValue, length: int) -> tuple[Cluster, ...]:
    """Chains of mentions [start, end), checked against the document's length."""
    clusters = []
    for chain in prediction.items():
        mentions = []
        for mention in chain.items():
            borders = [border.number() for border in mention.items()]
            if len(borders) != 2 or not 0 <= borders[0] < borders[1] <= length:
                raise mention.error(f"[start, end) within {length} tokens", str(mention.value))
            mentions.append(Mention(*borders))
        clusters.append(tuple(mentions))
    return tuple(clusters)
