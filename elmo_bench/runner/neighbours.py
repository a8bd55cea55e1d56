"""Nearest neighbours of a word in a corpus, from names of encoder and corpus to a record (paper, Table 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from elmo_bench import sources
from elmo_bench.config import (
    DataConfig,
    EncoderConfig,
    PathsConfig,
    TaskConfig,
    TrainerConfig,
    nearest,
    read_config,
)
from elmo_bench.data.text import read_sentences
from elmo_bench.data.vectors import read_vectors
from elmo_bench.fingerprint import hash_file, hash_value
from elmo_bench.records import Context, ContextNeighbours, NeighboursRecord, write_record
from elmo_bench.representations.mix import chosen_layer
from elmo_bench.representations.neighbours import (
    Candidates,
    Neighbourhood,
    Occurrence,
    find_neighbours,
    find_occurrences,
    find_similar_words,
)
from elmo_bench.runner.composition import compose, list_tasks
from elmo_bench.runner.encoders import FoundEncoder, find_encoder
from elmo_bench.runner.environment import describe_environment
from elmo_bench.runner.plugin import load_task
from elmo_bench.types import DataMissingError, Say, UsageError, Words

WORLD = "world"  # the generated world's plain text


@dataclass(frozen=True)
class Question:
    """What is asked for."""

    word: str
    corpus: str  # a file, `world`, or TASK or TASK/CORPUS
    encoder: str = "small"
    sentence: Words | None = None  # the occurrence meant; else the first ones of the corpus
    vectors: Path | None = None  # None: the usual ones, where they are there
    layer: int | None = None  # None: the last
    queries: int = 3
    count: int = 5
    candidates: Candidates = "any"
    overrides: tuple[str, ...] = ()  # as for run.py


@dataclass(frozen=True)
class Sentences:
    """A corpus that can be gone through more than once."""

    name: str
    read: Callable[[], Iterator[Words]]


def answer(question: Question, say: Say) -> NeighboursRecord:
    """What is near the word, in context and as a static vector."""
    values = compose([f"task={list_tasks()[0]}", f"encoder={question.encoder}", *question.overrides])
    paths = read_config(PathsConfig, values["paths"], "paths")
    config = read_config(EncoderConfig, values["encoder"], "encoder")
    corpus = find_sentences(question.corpus, paths, say)
    found, occurrences, tokens = find_occurrences(corpus.read(), question.word, question.queries)
    queries = [place_word(question.word, question.sentence)] if question.sentence else found
    if not queries:
        raise UsageError(
            f"{question.word!r} does not occur in {corpus.name} ({tokens:,} tokens); case matters. "
            "Give another word, or a sentence with --sentence"
        )
    encoder = find_encoder(config, paths, read_config(TrainerConfig, values["trainer"], "trainer"), say)
    last = encoder.card.layer_count - 1
    layer = chosen_layer(last if question.layer is None else question.layer, encoder.card.layer_count)
    assert layer is not None
    around = search(question, encoder, corpus, queries, layer, tokens)
    vectors = find_vectors(question, paths)
    return NeighboursRecord(
        word=question.word,
        encoder=encoder.card.name,
        encoder_fingerprint=encoder.card.fingerprint,
        layer=layer,
        corpus=corpus.name,
        corpus_tokens=tokens,
        occurrences=occurrences,
        contexts=[as_plain(neighbourhood) for neighbourhood in around],
        vectors=vectors.name if vectors else None,
        vectors_sha256=hash_file(vectors) if vectors else None,
        static=find_similar_words(read_vectors(vectors), question.word, 2 * question.count)
        if vectors
        else [],
        environment=describe_environment(),
    )


def keep(record: NeighboursRecord, directory: Path) -> Path:
    """Write a record under a name that says what it is of; the same question has the same name."""
    identity = record.model_dump(mode="json", exclude={"environment"})
    path = directory / "neighbours" / f"{record.word}-{hash_value(identity)[:12]}.json"
    write_record(path, record)
    return path


def search(
    question: Question,
    encoder: FoundEncoder,
    corpus: Sentences,
    queries: list[Occurrence],
    layer: int,
    tokens: int,
) -> list[Neighbourhood]:
    """Go through the corpus once, with a progress bar."""
    around: list[Neighbourhood] = []
    with tqdm(
        total=tokens, desc=f"encoding with {encoder.card.name}", unit=" tokens", unit_scale=True
    ) as bar:
        for read, so_far in find_neighbours(
            encoder.load(), corpus.read(), queries, layer, question.count, question.candidates
        ):
            bar.update(read)
            around = so_far
    return around


def place_word(word: str, sentence: Words) -> Occurrence:
    """The word in the sentence that was given."""
    if word not in sentence:
        raise UsageError(f"--sentence: {word!r} is not one of its tokens: {' '.join(sentence)}")
    return Occurrence(sentence, sentence.index(word))


def find_sentences(name: str, paths: PathsConfig, say: Say) -> Sentences:
    """A text file by its path, the generated world's text, or the training text of a task's corpus."""
    if Path(name).is_file():
        return Sentences(Path(name).name, lambda: read_sentences([Path(name)]))
    if name == WORLD:
        text = sources.generate_world(paths.cache / "world", say) / "text"
        return Sentences(WORLD, lambda: read_sentences(sorted(text.glob("train*"))))
    task_name, _, corpus_name = name.partition("/")
    known = list_tasks()
    if task_name not in known:
        raise DataMissingError(
            f"{name}: no such file, and no such corpus{nearest(task_name, known)}; give a file of one "
            f"sentence per line, {WORLD}, or TASK/CORPUS as `python -m elmo_bench tasks` lists them"
        )
    return training_text(task_name, corpus_name, paths, say)


def training_text(task_name: str, corpus_name: str, paths: PathsConfig, say: Say) -> Sentences:
    """The sentences of a task's training set, each once."""
    config = read_config(TaskConfig, compose([f"task={task_name}"])["task"], "task")
    source = next(
        (name for name in config.sources if corpus_name and corpus_name in config.sources[name]), "open"
    )
    data = read_config(DataConfig, {"source": source, "corpus": corpus_name or None}, "data")
    task = load_task(config)
    corpus = sources.prepare(config, data, paths, say)

    def read() -> Iterator[Words]:
        seen: set[int] = set()
        for example in task.read(corpus.files["train"]):
            for rows in task.sentences(example).values():
                for words in rows:
                    if (number := hash(words)) not in seen:
                        seen.add(number)
                        yield words

    return Sentences(f"{task_name}/{corpus.name}", read)


def find_vectors(question: Question, paths: PathsConfig) -> Path | None:
    """The file of static vectors: the one that was named, else the usual one where it is there."""
    if question.vectors is not None:
        if not question.vectors.is_file():
            raise DataMissingError(f"{question.vectors}: no such file; expected GloVe-like word vectors")
        return question.vectors
    words = compose([f"task={list_tasks()[0]}", "words=glove", f"paths.vectors={paths.vectors}"])["words"]
    usual = Path(words["file"])
    return usual if usual.is_file() else None


def as_plain(neighbourhood: Neighbourhood) -> ContextNeighbours:
    query = neighbourhood.query
    return ContextNeighbours(
        query=Context(sentence=query.words, position=query.position),
        nearest=[
            Context(sentence=found.words, position=found.position, near=round(near, 6))
            for found, near in neighbourhood.nearest()
        ],
    )
