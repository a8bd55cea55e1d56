"""`python -m elmo_bench score`: the official score of predictions from any system, as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from elmo_bench.data.columns import read_columns
from elmo_bench.data.conll2003 import read_scored
from elmo_bench.data.conll2005 import PropsSentence, read_props
from elmo_bench.data.coreference import CoreferenceDocument, read_coreference
from elmo_bench.data.lines import fault, require_any
from elmo_bench.data.squad import read_answers, read_squad
from elmo_bench.data.tags import Chunk
from elmo_bench.data.trees import read_labels, read_trees
from elmo_bench.extras import import_extra
from elmo_bench.metrics.accuracy import count_correct, score_accuracy
from elmo_bench.metrics.answers import count_answer, score_answers
from elmo_bench.metrics.arguments import count_arguments, score_arguments
from elmo_bench.metrics.entities import count_entities, score_entities
from elmo_bench.metrics.matches import labels_of
from elmo_bench.metrics.ratios import harmonic_mean, sum_counts
from elmo_bench.types import BenchError, Counts, DataError, Scores, Words

HELP = "score a file of predictions as the official scorer of its task does"
EXAMPLE = "python -m elmo_bench score ner tagged.txt\n  python -m elmo_bench score ner tagged.txt --check"

Figures = dict[str, Any]
Both = tuple[Scores, Scores]  # between this package and another library, in percent


def configure(parser: argparse.ArgumentParser) -> None:
    """One sub-command per prediction format; some can be checked with another library."""
    checks = {
        "ner": ("seqeval", ner_check),
        "sst5": ("scikit-learn", sst5_check),
        "accuracy": ("scikit-learn", accuracy_check),
    }
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    for figures, kind, files, what in (
        (ner_figures, "ner", "TAGGED", "conlleval's figures for columns `word gold predicted`"),
        (srl_figures, "srl", "GOLD PREDICTED", "srl-eval.pl's figures for CoNLL-2005 props"),
        (squad_figures, "squad", "DATASET PREDICTIONS", "exact match and F1 of SQuAD v1.1, all digits"),
        (coref_figures, "coref", "KEY RESPONSE", "MUC, B³ and CEAF-φ4 as scorer v8.01 prints them"),
        (sst5_figures, "sst5", "TREES PREDICTED", "accuracy of one label per line against trees' roots"),
        (accuracy_figures, "accuracy", "TAGGED", "right answers in columns `... gold predicted`"),
    ):
        of_kind = kinds.add_parser(kind, help=what, description=what)
        for file in files.split():
            of_kind.add_argument("files", action="append", type=Path, metavar=file)
        of_kind.set_defaults(figures=figures, check=False)
        if kind in checks:
            library, check = checks[kind]
            what = f"compute the scores with {library} too; exit code 1 if any differs"
            of_kind.add_argument("--check", action="store_true", help=what)
            of_kind.set_defaults(library=library, scores=check)


def run(arguments: argparse.Namespace) -> None:
    """Print the scores; with --check also those of another library, which must agree."""
    figures = arguments.figures(*arguments.files)
    if not arguments.check:
        print_figures(figures)
        return
    import_extra("seqeval", "--check")  # which needs scikit-learn itself
    from elmo_bench.metrics.reference import differing

    ours, theirs = arguments.scores(*arguments.files)
    library = f"{arguments.library} {version(arguments.library)}"
    print_figures({**figures, "check": {library: {name: round(theirs[name], 2) for name in theirs}}})
    if names := differing(ours, theirs):
        pairs = [f"{name} {ours.get(name)}, {library} {theirs.get(name)}" for name in names]
        raise BenchError("\n".join(["scores differ:", *pairs]))


def print_figures(figures: Figures) -> None:
    """As JSON."""
    print(json.dumps(figures, indent=1, ensure_ascii=False))


def ner_figures(tagged: Path) -> Figures:
    """The scores that conlleval prints, with its two decimals, and the chunk counts behind them."""
    rows = [count_entities(sentence.gold, sentence.predicted) for sentence in read_scored(tagged)]
    counts, scores = sum_counts(rows), score_entities(rows)
    return {
        **_ner_row(counts, scores, ""),
        "accuracy": round(scores["accuracy"], 2),
        "tokens": int(counts["tokens"]),
        "types": {label: _ner_row(counts, scores, f":{label}") for label in labels_of(counts)},
    }


def ner_check(tagged: Path) -> Both:
    """Over all chunks, per type, and of tokens."""
    from elmo_bench.metrics.reference import entities_by_seqeval

    sentences = list(read_scored(tagged))
    gold, predicted = ([getattr(sentence, tags) for sentence in sentences] for tags in ("gold", "predicted"))
    return score_entities(map(count_entities, gold, predicted)), entities_by_seqeval(gold, predicted)


def _ner_row(counts: Counts, scores: Scores, suffix: str) -> Figures:
    correct, predicted, gold = (int(counts.get(name + suffix, 0)) for name in ("tp", "predicted", "gold"))
    return {**_printed(scores, suffix), "correct": correct, "predicted": predicted, "gold": gold}


def srl_figures(gold: Path, predicted: Path) -> Figures:
    """The scores that srl-eval.pl prints, with its two decimals."""
    rows = []
    for expected, found in _aligned_props(gold, predicted):
        propositions = {(one.predicate, one.lemma): one.phrases for one in found.propositions}
        for one in expected.propositions:
            # As in the script: a predicate whose lemma is wrong or absent has all its arguments missed.
            missing: tuple[Chunk, ...] = ()
            rows.append(count_arguments(one.phrases, propositions.get((one.predicate, one.lemma), missing)))
    counts, scores = sum_counts(rows), score_arguments(rows)
    return {
        **_srl_row(counts, scores, ""),
        "propositions": len(rows),
        "perfect_propositions": round(scores["perfect_propositions"], 2),
        "labels": {label: _srl_row(counts, scores, f":{label}") for label in labels_of(counts)},
    }


def _srl_row(counts: Counts, scores: Scores, suffix: str) -> Figures:
    correct, predicted, gold = (int(counts.get(name + suffix, 0)) for name in ("tp", "predicted", "gold"))
    return {
        **_printed(scores, suffix),
        "correct": correct,
        "excess": predicted - correct,
        "missed": gold - correct,
    }


def _aligned_props(gold: Path, predicted: Path) -> Iterator[tuple[PropsSentence, PropsSentence]]:
    for number, pair in enumerate(zip_longest(read_props(gold), read_props(predicted)), start=1):
        expected, found = pair
        if expected is None or found is None:
            shorter = gold if expected is None else predicted
            raise DataError(f"{shorter}: expected as many sentences as in the other file, got {number - 1}")
        if expected.length != found.length:
            expectation = f"{expected.length} rows, as in sentence {number} of {gold}"
            raise fault(predicted, found.line, expectation, str(found.length))
        yield expected, found


def _printed(scores: Scores, suffix: str) -> Figures:
    return {name: round(scores[name + suffix], 2) for name in ("precision", "recall", "f1")}


def squad_figures(dataset: Path, predictions: Path) -> Figures:
    """The scores that evaluate-v1.1.py prints, with all digits; a question without an answer is wrong."""
    answers = read_answers(predictions)
    rows = [
        count_answer([answer.text for answer in question.answers], answers.get(question.id))
        for question in read_squad(dataset)
    ]
    counts = sum_counts(rows)
    numbers = {name: int(counts[name]) for name in ("questions", "answered")}
    return {**score_answers(rows), **numbers, "unknown": len(answers) - numbers["answered"]}


def sst5_figures(trees: Path, predicted: Path) -> Figures:
    """The percentage of sentences with the right sentiment, in total and by label."""
    by_label: dict[int, list[Counts]] = {}
    for gold, found in _read_sentiment(trees, predicted):
        by_label.setdefault(gold, []).append(count_correct([gold], [found]))
    return {
        **_accuracy([row for rows in by_label.values() for row in rows]),
        "labels": {str(label): _accuracy(by_label[label]) for label in sorted(by_label)},
    }


def sst5_check(trees: Path, predicted: Path) -> Both:
    """Of all sentences and by label."""
    from elmo_bench.metrics.reference import accuracy_by_sklearn, label_accuracies_by_sklearn

    figures = sst5_figures(trees, predicted)
    of_labels = {label: row["accuracy"] for label, row in figures["labels"].items()}
    gold, found = zip(*_read_sentiment(trees, predicted), strict=True)
    theirs = accuracy_by_sklearn(gold, found) | label_accuracies_by_sklearn(gold, found)
    return {"accuracy": figures["accuracy"], **of_labels}, theirs


def _read_sentiment(trees: Path, predicted: Path) -> list[tuple[int, int]]:
    """The gold label and the predicted one of every sentence."""
    gold = [tree.label for tree in read_trees(trees)]
    found = list(read_labels(predicted))
    if len(found) != len(gold):
        raise DataError(
            f"{predicted}: expected {len(gold)} labels, one per tree of {trees}, got {len(found)}"
        )
    return list(zip(gold, found, strict=True))


def _accuracy(rows: Sequence[Counts]) -> Figures:
    return {**score_accuracy(rows), **{name: int(number) for name, number in sum_counts(rows).items()}}


def accuracy_figures(tagged: Path) -> Figures:
    """The percentage of rows whose last two columns agree."""
    return _accuracy([count_correct(gold, found) for gold, found in _read_answers(tagged)])


def accuracy_check(tagged: Path) -> Both:
    """Of all rows."""
    from elmo_bench.metrics.reference import accuracy_by_sklearn

    gold, found = ([*chain.from_iterable(columns)] for columns in zip(*_read_answers(tagged), strict=True))
    return {"accuracy": accuracy_figures(tagged)["accuracy"]}, accuracy_by_sklearn(gold, found)


def _read_answers(tagged: Path) -> list[tuple[Words, Words]]:
    """The gold answers and the predicted ones of every sentence."""
    sentences = require_any(tagged, read_columns(tagged, minimum=2), "row")
    return [(sentence.column(-2), sentence.column(-1)) for sentence in sentences]


def coref_figures(key: Path, response: Path) -> Figures:
    """The scores that the reference scorer prints, truncated to two decimals, and the average F1."""
    # loading scipy takes longer than scoring any of the other formats
    from elmo_bench.metrics.coreference import METRICS, PARTS, count_coreference

    pairs = _aligned_documents(key, response)
    counts = sum_counts(count_coreference(gold.clusters, found.clusters) for gold, found in pairs)
    figures: Figures = {}
    for metric in METRICS:
        numbers = {part: counts[f"{metric}_{part}"] for part in PARTS}
        recall = _ratio(numbers["recall_num"], numbers["recall_den"])
        precision = _ratio(numbers["precision_num"], numbers["precision_den"])
        rates = {"recall": recall, "precision": precision, "f1": harmonic_mean(precision, recall)}
        figures[metric] = numbers | {name: int(rate * 10000) / 100 for name, rate in rates.items()}
    # The scorer prints no average; published ones are of its printed F1.
    average = sum(figures[metric]["f1"] for metric in METRICS) / len(METRICS)
    return figures | {"average_f1": round(average, 2)}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _aligned_documents(
    key: Path, response: Path
) -> Iterator[tuple[CoreferenceDocument, CoreferenceDocument]]:
    documents = {(document.name, document.part): document for document in read_coreference(response)}
    for gold in read_coreference(key):
        found = documents.pop((gold.name, gold.part), None)
        place = f"{gold.name}, part {gold.part:03d}"
        if found is None:
            raise DataError(f"{response}: expected the document {place} of {key}, got none with this name")
        lengths = [sum(map(len, document.sentences)) for document in (gold, found)]
        if lengths[0] != lengths[1]:
            raise DataError(
                f"{response}: expected {lengths[0]} tokens in {place}, as in {key}, got {lengths[1]}"
            )
        yield gold, found
    for name, part in documents:
        raise DataError(f"{response}: expected only documents of {key}, got {name}, part {part:03d} too")
