"""Nearest neighbours of a word in a corpus, from names of encoder and corpus to a record (paper, Table 4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench import sources
from elmo_bench.catalog import list_tasks, read_task
from elmo_bench.commands import spell_command
from elmo_bench.conditions import leave_out
from elmo_bench.config import (
    DataConfig,
    EncoderConfig,
    PathsConfig,
    TrainerConfig,
    WordsConfig,
    nearest,
    read_config,
)
from elmo_bench.data.text import read_sentences
from elmo_bench.data.vectors import read_vectors
from elmo_bench.encoders.find import find_encoder
from elmo_bench.encoders.layers import kept_layers, spell_layers
from elmo_bench.encoders.neighbours import (
    Candidates,
    Neighbourhood,
    Occurrence,
    find_neighbours,
    find_occurrences,
    find_similar_words,
)
from elmo_bench.encoders.protocol import FoundEncoder
from elmo_bench.hashing import hash_file_once, hash_files, hash_value
from elmo_bench.output import progress_bar
from elmo_bench.plugins import load_reader
from elmo_bench.records import Context, ContextNeighbours, ContextRank, NeighboursRecord
from elmo_bench.runs.environment import describe_environment
from elmo_bench.task import Named
from elmo_bench.types import DataMissingError, Log, UsageError, Words

WORLD = "world"  # the generated world's plain text
SEARCH_NUMERICS = 2  # raised when the same question gets another answer; a change of the heads does not count


@dataclass(frozen=True)
class Question:
    """What is asked for."""

    word: str
    corpus: str  # a file, `world`, or TASK or TASK/CORPUS
    sentence: Words | None = None  # the occurrence meant
    sentences: Mapping[str, str | None] | None = (
        None  # those of the corpus, each with one whose rank is printed
    )
    vectors: Path | None = None  # None: the usual ones, where they are there
    layer: int | None = None  # None: the last
    queries: int = 3
    count: int = 5
    candidates: Candidates = "any"


@dataclass(frozen=True)
class Setting:
    """By what it is answered."""

    encoder: EncoderConfig
    words: WordsConfig  # the usual vectors
    paths: PathsConfig
    trainer: TrainerConfig

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Setting:
        """That of a composed configuration."""
        return cls(
            read_config(EncoderConfig, values["encoder"], "encoder"),
            read_config(WordsConfig, values["words"], "words"),
            read_config(PathsConfig, values["paths"], "paths"),
            read_config(TrainerConfig, values["trainer"], "trainer"),
        )


@dataclass(frozen=True)
class Sentences:
    """A corpus that can be gone through more than once."""

    name: str
    sha256: str
    read: Callable[[], Iterator[Words]]
    named: Callable[[], Iterator[tuple[str, Words]]] | None = None  # every sentence with its id, if any


@dataclass(frozen=True)
class Prepared:
    """A question with all that is to be read for it, found and fingerprinted; nothing is computed yet."""

    question: Question
    corpus: Sentences
    encoder: FoundEncoder
    layer: int
    vectors: Path | None
    identity: dict[str, Any]

    def place(self, directory: Path) -> Path:
        """Where its record lies or will lie: the same question has the same name, whatever its word holds."""
        word = re.sub(r"[^\w.-]", "_", self.question.word)  # a slash would lead elsewhere
        return directory / "neighbours" / f"{word}-{hash_value(self.identity)[:12]}.json"


def prepare(question: Question, setting: Setting, log: Log) -> Prepared:
    """Find corpus, encoder and vectors."""
    corpus = find_sentences(question.corpus, setting.paths, log)
    vectors = find_vectors(question, setting)
    encoder = find_encoder(setting.encoder, setting.paths, setting.trainer, log)
    kept = kept_layers(setting.encoder.layers, encoder.card.layer_count)
    layer = kept[-1] if question.layer is None else question.layer
    if layer not in kept:
        raise UsageError(f"layer {layer}: expected one that this encoder has: {spell_layers(kept)}")
    identity = {
        "word": question.word,
        "sentence": question.sentence,
        "layer": layer,
        "queries": question.queries,
        "count": question.count,
        "candidates": question.candidates,
        "corpus_sha256": corpus.sha256,
        "encoder_fingerprint": encoder.card.fingerprint,
        "vectors_sha256": hash_file_once(vectors) if vectors else None,
        "numerics": SEARCH_NUMERICS,
        **({"sentences": dict(question.sentences)} if question.sentences else {}),  # older answers lack it
    }
    return Prepared(question, corpus, encoder, layer, vectors, identity)


def answer(prepared: Prepared) -> NeighboursRecord:
    """What is near the word, in context and as a static vector."""
    question, corpus = prepared.question, prepared.corpus
    found, occurrences, tokens = find_occurrences(corpus.read(), question.word, question.queries)
    ranked: list[Occurrence | None] = []
    if question.sentence:
        queries = [place_word(question.word, question.sentence)]
    elif question.sentences:
        queries, ranked = find_named(corpus, question.word, question.sentences)
    else:
        queries = found
    if not queries:
        raise UsageError(
            f"{question.word!r} does not occur in {corpus.name} ({tokens:,} tokens); case matters. "
            "Give another word, or a sentence with --sentence"
        )
    around = search(prepared, queries, ranked, tokens)
    vectors = prepared.vectors
    similar = find_similar_words(read_vectors(vectors), question.word, 2 * question.count) if vectors else []
    return NeighboursRecord(
        identity=prepared.identity,
        word=question.word,
        encoder=prepared.encoder.card.name,
        encoder_fingerprint=prepared.encoder.card.fingerprint,
        layer=prepared.layer,
        corpus=corpus.name,
        corpus_tokens=tokens,
        occurrences=occurrences,
        contexts=[as_plain(neighbourhood) for neighbourhood in around],
        vectors=vectors.name if vectors else None,
        vectors_sha256=prepared.identity["vectors_sha256"],
        static=similar,
        environment=describe_environment(),
    )


def search(
    prepared: Prepared, queries: list[Occurrence], ranked: list[Occurrence | None], tokens: int
) -> list[Neighbourhood]:
    """Go through the corpus once, with a progress bar."""
    question, encoder = prepared.question, prepared.encoder
    around: list[Neighbourhood] = []
    with progress_bar(tokens, "tokens", f"encoding with {encoder.card.name}") as bar:
        for read, so_far in find_neighbours(
            encoder.load(),
            prepared.corpus.read(),
            queries,
            prepared.layer,
            question.count,
            question.candidates,
            ranked,
        ):
            bar.update(read)
            around = so_far
    return around


def find_named(
    corpus: Sentences, word: str, sentences: Mapping[str, str | None]
) -> tuple[list[Occurrence], list[Occurrence | None]]:
    """The word in sentences of a corpus by their ids, and in those whose rank is printed."""
    wanted = {name for pair in sentences.items() for name in pair if name}
    found: dict[str, Occurrence] = {}
    for name, words in corpus.named() if corpus.named else ():
        if name in wanted and word in words:
            found.setdefault(name, Occurrence(words, words.index(word)))
    if missing := sorted(wanted - found.keys()):
        raise UsageError(
            f"{corpus.name} has no sentence {missing[0]} with {word!r}; without --id, or with "
            "sentences=first in an experiment, the first ones with the word are taken"
        )
    return [found[name] for name in sentences], [found[name] if name else None for name in sentences.values()]


def place_word(word: str, sentence: Words) -> Occurrence:
    """The word in the sentence that was given."""
    if word not in sentence:
        raise UsageError(f"--sentence: {word!r} is not one of its tokens: {' '.join(sentence)}")
    return Occurrence(sentence, sentence.index(word))


def find_sentences(name: str, paths: PathsConfig, log: Log) -> Sentences:
    """A text file by its path, the generated world's text, or the training text of a task's corpus."""
    if Path(name).is_file():
        return text_of(Path(name).name, [Path(name)])
    if name == WORLD:
        text = sources.generate_world(paths.cache, log) / "text"
        return text_of(WORLD, sorted(text.glob("train*")))
    task_name, _, corpus_name = name.partition("/")
    known = list_tasks()
    if task_name not in known:
        raise DataMissingError(
            f"{name}: no such file, and no such corpus{nearest(task_name, known)}; give a file of one "
            f"sentence per line, {WORLD}, or TASK/CORPUS as `{spell_command('tasks')}` lists them"
        )
    return training_text(task_name, corpus_name, paths, log)


def text_of(name: str, files: list[Path]) -> Sentences:
    """The sentences of plain files."""
    return Sentences(name, hash_files(files), lambda: read_sentences(files))


def training_text(task_name: str, corpus_name: str, paths: PathsConfig, log: Log) -> Sentences:
    """The sentences of a task's training set, each once."""
    config = read_task(task_name)
    source = next(
        (name for name in config.sources if corpus_name and corpus_name in config.sources[name]), "open"
    )
    data = read_config(DataConfig, {"source": source, "corpus": corpus_name or None}, "data")
    task = load_reader(config)
    corpus = sources.prepare(config, data, paths, log)

    def read_named() -> Iterator[tuple[str, Words]]:
        for example in task.read(corpus.files["train"]):
            name = example.corpus_id if isinstance(example, Named) else example.id
            yield from ((name, words) for rows in task.sentences(example).values() for words in rows)

    def read() -> Iterator[Words]:
        seen: set[int] = set()
        for _, words in read_named():
            if (number := hash(words)) not in seen:
                seen.add(number)
                yield words

    settings = leave_out(config.settings, config.as_before)
    facts = [settings, config.text, task.version, corpus.fingerprints()["train"]]
    return Sentences(f"{task_name}/{corpus.name}", hash_value(facts), read, read_named)


def find_vectors(question: Question, setting: Setting) -> Path | None:
    """The file of word vectors: the one that was named, else the usual one where it is there."""
    if question.vectors is not None and not question.vectors.is_file():
        raise DataMissingError(f"{question.vectors}: no such file; expected GloVe-like word vectors")
    usual = setting.words.file
    return question.vectors or (usual if usual and usual.is_file() else None)


def as_plain(neighbourhood: Neighbourhood) -> ContextNeighbours:
    """A neighbourhood as a record keeps it."""
    query = neighbourhood.query
    return ContextNeighbours(
        query=Context(sentence=query.words, position=query.position),
        nearest=[
            Context(sentence=found.words, position=found.position, near=round(near, 6))
            for found, near in neighbourhood.nearest()
        ],
        ranks=[
            ContextRank(
                context=Context(
                    sentence=standing.occurrence.words,
                    position=standing.occurrence.position,
                    near=round(standing.near, 6),
                ),
                candidates=standing.candidates,
                rank=standing.rank,
                total=standing.total,
            )
            for standing in neighbourhood.standings
        ],
    )
