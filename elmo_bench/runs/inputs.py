"""From files to the input of training: selected and indexed examples with their representations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from elmo_bench.config import RunConfig, TextContext
from elmo_bench.data.batching import IndexedExample
from elmo_bench.data.vectors import join_vectors, read_vectors_once
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable, word_table
from elmo_bench.encoders.layers import layers_stored
from elmo_bench.encoders.protocol import FoundEncoder
from elmo_bench.encoders.shards import STORE
from elmo_bench.encoders.store import Store
from elmo_bench.runs.batches import LayerSource, no_layers
from elmo_bench.runs.excerpts import check_documents, excerpts_of, texts_of
from elmo_bench.runs.preparation import Prepared
from elmo_bench.runs.selection import choose_examples, read_corpus
from elmo_bench.runs.speed import Stopwatch, keep_speed
from elmo_bench.task import AnyTask, Example
from elmo_bench.types import DataError, Log, Words


@dataclass(frozen=True)
class Material:
    """Everything that a run computes with, by split."""

    examples: dict[str, list[Example]]
    whole: int  # training examples before a fraction of them was selected
    indexed: dict[str, list[IndexedExample]]
    layers: dict[str, LayerSource]
    vocabularies: Vocabularies
    coverage: dict[str, dict[str, float]]  # coverage of the word vectors
    left_out: dict[str, dict[str, int]]  # what the files contain in addition to the examples, by split
    stopwatch: Stopwatch  # of the encoder


def gather(config: RunConfig, prepared: Prepared, log: Log) -> Material:
    """Read, select and index the examples, and look up their representations; compute missing ones."""
    task = prepared.task
    reading = read_corpus(task, prepared.corpus)
    if prepared.corpus.fingerprints() != prepared.data_sha256:
        raise DataError(f"{prepared.corpus.name}: its files changed while the run read them; run it again")
    everything = reading.examples
    if prepared.encoder is not None:
        check_documents(task, everything, config.encoder.context, prepared.corpus.name)
    examples = {
        split: choose_examples(split, rows, config.data, config.limit) for split, rows in everything.items()
    }
    log(", ".join(f"{len(rows):,} {split}" for split, rows in examples.items()) + " examples")
    for split, counts in reading.left_out.items():
        log(f"left out of {split}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))
    vocabularies = build_vocabularies(config, task, examples["train"], log)
    table = vocabularies.words
    coverage = {split: table.coverage(sentences_of(task, rows)) for split, rows in examples.items()}
    context = config.encoder.context
    indexed = {split: number_examples(task, rows, vocabularies, context) for split, rows in examples.items()}
    # A run with a limit encodes only its examples; any other run reads from the store of the whole file.
    encoded = examples if config.limit else everything
    stopwatch = Stopwatch()
    if prepared.encoder is not None:
        stopwatch.keep = partial(keep_speed, config, prepared.encoder.card)
        prepared = replace(prepared, encoder=stopwatch.time(prepared.encoder))
    layers = {split: open_layers(config, prepared, split, encoded[split], log) for split in examples}
    whole = min(len(everything["train"]), config.limit or len(everything["train"]))
    return Material(examples, whole, indexed, layers, vocabularies, coverage, reading.left_out, stopwatch)


def build_vocabularies(
    config: RunConfig, task: AnyTask, training: Sequence[Example], log: Log
) -> Vocabularies:
    """The mappings from strings to indices: a function of training examples, vectors and seed."""
    table = read_words(config, sentences_of(task, training), log)
    return Vocabularies(table, task.vocabularies(training))


def number_examples(
    task: AnyTask, examples: Iterable[Example], vocabularies: Vocabularies, context: TextContext = "sentence"
) -> list[IndexedExample]:
    """Examples as tensors, with the excerpts for looking up their representations."""
    return [
        IndexedExample(row.id, excerpts_of(task, row, context), task.index(row, vocabularies))
        for row in examples
    ]


def read_words(config: RunConfig, training: Iterable[Words], log: Log) -> WordTable:
    """The task's own word vectors; rows without pre-trained values depend on the seed."""
    words = config.words
    cache = config.paths.cache / "vectors"
    files = [read_vectors_once(file, cache, log) for file in words.files]
    vectors = join_vectors(files) if files else None
    training_words = (word for sentence in training for word in sentence)
    return word_table(words.kind, vectors, training_words, words.dim, config.seed, words.trainable)


def sentences_of(task: AnyTask, examples: Iterable[Example]) -> list[Words]:
    """Every token sequence of some examples."""
    return [words for row in examples for rows in task.sentences(row).values() for words in rows]


def open_layers(
    config: RunConfig, prepared: Prepared, split: str, examples: Sequence[Example], log: Log
) -> LayerSource:
    """The opened store with the layers of a split's sentences."""
    if prepared.encoder is None:
        return no_layers
    label = f"{config.task.name} {prepared.corpus.name} {split}"
    layers = layers_stored(config, prepared.encoder.card.layer_count)
    store = build_store(config, prepared.encoder, prepared.layers, layers, log)
    texts = texts_of(prepared.task, examples, config.encoder.context)
    return store.open(prepared.data_sha256[split], texts, label).batch


def build_store(
    config: RunConfig, encoder: FoundEncoder, layers: Sequence[int], stored: Sequence[int], log: Log
) -> Store:
    """The configured store of an encoder's layers: those to read, and those to store if it must encode."""
    return Store(
        config.paths.cache / STORE,
        encoder.card,
        encoder.load,
        dtype=config.store.dtype,
        mode=config.store.mode,
        layers=tuple(layers),
        stored=tuple(stored),
        log=log,
    )
