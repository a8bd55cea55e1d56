"""What the paper's sizes would cost on this machine, computed from rates that are measured on the spot."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmConfig, BilmOptions
from elmo_bench.bilm.training.batches import ContiguousStreams, TokenTable
from elmo_bench.bilm.training.module import build_optimiser, choose_arithmetic, summed_loss
from elmo_bench.bilm.training.objective import Softmax
from elmo_bench.bilm.training.step_input import CharacterTable, as_tensors, top_outputs
from elmo_bench.bilm.training.text import EncodedText, encode_sentences, encode_shards
from elmo_bench.data.text import TargetVocabulary, read_sentences
from elmo_bench.encoders.protocol import Encoder, EncoderCard
from elmo_bench.encoders.store import Store
from elmo_bench.files import scratch_directory
from elmo_bench.training.memory import keep_freed_memory, peak_bytes, reset_peak
from elmo_bench.types import BenchError, Log

TIMED_TOKENS = 4_000_000  # numbered to measure the speed
TRACED_TOKENS = 2_400_000  # numbered to measure memory; more than what is read at a time
FEW, MANY = 1_000, 101_000  # types of the generated texts
LONG, SHORT, SHORTEST = 25, 2, 1  # words of a sentence; in a large text sentences take the memory, not lines
ROWS = (32, 96)  # of the steps that are timed; a step takes a fixed time and a time per token
FLOAT, INTEGER = 4, 4  # bytes
COPIES = {"adagrad": 3, "adam": 4}  # weights, gradients and what the optimiser keeps, each as large


@dataclass(frozen=True)
class Text:
    """The size of a text."""

    tokens: int
    sentences: int
    types: int


ONE_BILLION = Text(tokens=768_648_884, sentences=30_301_028, types=2_400_000)
"""Chelba et al. 2014 for tokens and sentences. Our estimate of the types: 793,471 words occur three times."""


@dataclass(frozen=True)
class Corpus:
    """The examples of a corpus, and tokens of an example where each different sentence counts once."""

    examples: int
    tokens: float


CORPORA = {
    # Tokens are of the parts at hand (data=open), read by this project: SQuAD and SNLI per example, SST-5 per
    # phrase. CoNLL-2012 has 1.3 M, 160 K and 170 K words (Pradhan et al. 2013); CoNLL-2003's are counted.
    "squad": Corpus(98_169, 36.0),
    "snli": Corpus(570_152, 13.4),
    "srl": Corpus(1, 1_630_000),
    "coref": Corpus(1, 1_630_000),
    "ner": Corpus(1, 301_418),
    "sst5": Corpus(159_274, 10.7),
}


@dataclass(frozen=True)
class Linear:
    """Bytes that grow with the types and the sentences of a text.

    The two have their peaks at different moments, so the sum is an upper bound.
    """

    fixed: float
    per_type: float
    per_sentence: float

    def of(self, text: Text) -> float:
        """The bytes for a text."""
        return self.fixed + self.per_type * text.types + self.per_sentence * text.sentences


@dataclass(frozen=True)
class Numbering:
    """The measured numbering of a text."""

    tokens_per_second: float
    memory: Linear  # at its peak
    kept: Linear  # what a process keeps of the text while it trains, its first batch included

    def disk(self, text: Text) -> float:
        """The numbers of the tokens, twice while they are written, and the starts of sentences."""
        return 2 * INTEGER * text.tokens + 8 * text.sentences


@dataclass(frozen=True)
class Training:
    """Measured steps of a biLM: seconds and memory grow linearly with the tokens of a step."""

    parameters: int
    seconds_fixed: float
    seconds_per_token: float
    bytes_per_token: float
    products: str

    def step_seconds(self, tokens: float) -> float:
        """The seconds of a step of so many tokens."""
        return self.seconds_fixed + self.seconds_per_token * tokens

    def memory(self, config: BilmConfig, tokens: float) -> float:
        """The bytes of a step: the weights with what belongs to them, and what grows with the tokens."""
        return self.parameters * FLOAT * COPIES[config.descent.optimiser] + self.bytes_per_token * tokens


def measure_numbering(parent: Path, log: Log) -> Numbering:
    """Number generated texts below a directory, and remove them."""
    with scratch_directory(parent, "scale") as directory:
        log(f"numbering {TIMED_TOKENS:,} tokens")
        path = write_text(directory / "timed.txt", TIMED_TOKENS, MANY, LONG)
        start = time.process_time()
        encode_shards([path], directory / "timed", log)
        seconds = time.process_time() - start
        log("measuring the memory of texts with more types and more sentences")
        sizes = [(FEW, SHORT), (MANY, SHORT), (FEW, SHORTEST)]
        traced = [trace_text(directory / str(number), *size) for number, size in enumerate(sizes)]
    peaks, kept = zip(*((numbering, training) for _, numbering, training in traced), strict=True)
    texts = [text for text, _, _ in traced]
    return Numbering(TIMED_TOKENS / seconds, fit_linear(texts, peaks), fit_linear(texts, kept))


def write_text(path: Path, tokens: int, types: int, length: int) -> Path:
    """Words by Zipf's law, each type at least once, in sentences of one length."""
    generator = np.random.default_rng(0)
    ranks = np.exp(generator.random(tokens - types) * np.log(types)).astype(np.int64) - 1
    numbers = np.concatenate([np.arange(types), ranks])
    generator.shuffle(numbers)
    words = [f"word{number}" for number in range(types)]
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, tokens, length):
            file.write(" ".join(words[number] for number in numbers[start : start + length]) + "\n")
    return path


def trace_text(directory: Path, types: int, length: int) -> tuple[Text, int, int]:
    """A text, the peak of numbering it, and what training on it keeps."""
    directory.mkdir()
    path = write_text(directory / "text.txt", TRACED_TOKENS, types, length)
    tracemalloc.start()
    try:
        text = encode_shards([path], directory / "encoded", log=lambda _: None)
        numbering = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        table = TokenTable(text, TargetVocabulary.of_frequent(text.types, len(text.types)))
        characters = CharacterTable(text.types, 50)
        as_tensors(ContiguousStreams(table, rows=8, window=20, seed=0).batch(0, 0), characters)
        training = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return Text(len(text.tokens), len(text), len(text.types)), numbering, training


def fit_linear(texts: list[Text], peaks: tuple[int, ...]) -> Linear:
    """The plane through three points: the second has more types, the third more sentences."""
    first, more_types, more_sentences = texts
    per_type = (peaks[1] - peaks[0]) / (more_types.types - first.types)
    per_sentence = (peaks[2] - peaks[0]) / (more_sentences.sentences - first.sentences)
    return Linear(peaks[0] - per_type * first.types - per_sentence * first.sentences, per_type, per_sentence)


def measure_training(config: BilmConfig, text: EncodedText, log: Log) -> Training:
    """Steps of two sizes with carried state, whole: forward, backward, clipping, optimiser."""
    keep_freed_memory()
    generator = torch.Generator().manual_seed(0)
    bilm = BiLM(config.architecture, generator)
    vocabulary = TargetVocabulary.of_frequent(text.types, config.vocabulary)
    softmax = Softmax(max(config.vocabulary, len(vocabulary)), config.architecture.projection_dim, generator)
    parameters = [*bilm.parameters(), *softmax.parameters()]
    count = sum(parameter.numel() for parameter in parameters)
    log(f"training {config.name}, {count / 1e6:.0f} M weights, on {' and '.join(map(str, ROWS))} rows")
    optimiser = build_optimiser(config.descent, parameters)
    table = TokenTable(text, vocabulary)
    characters = CharacterTable(text.types, config.architecture.maximum_characters)
    arithmetic = choose_arithmetic(config)

    def stepper(rows: int) -> Callable[[int], None]:
        streams = ContiguousStreams(table, rows, config.batches.window, seed=0)

        def step(number: int) -> None:
            batch = as_tensors(streams.batch(0, number), characters)
            optimiser.zero_grad()
            outputs, _ = top_outputs(bilm, batch, None, config.dropout, arithmetic)
            targets = torch.cat([direction.targets for direction in batch.directions])
            loss, _ = summed_loss(config, softmax, outputs, targets, [number], arithmetic)
            torch.autograd.backward([loss / (2 * batch.predictions)])
            torch.nn.utils.clip_grad_norm_(parameters, config.descent.clip)
            optimiser.step()

        return step

    seconds, peaks = [], []
    for rows in ROWS:
        step = stepper(rows)
        step(0)  # it makes the optimiser's state
        reset_peak()
        before = peak_bytes()
        start = time.process_time()
        step(1)
        seconds.append((time.process_time() - start) / torch.get_num_threads())
        peaks.append(peak_bytes() - before)
    fewer, more = (rows * config.batches.window for rows in ROWS)
    slope = (seconds[1] - seconds[0]) / (more - fewer)
    return Training(
        parameters=count,
        seconds_fixed=seconds[0] - slope * fewer,
        seconds_per_token=slope,
        bytes_per_token=(peaks[1] - peaks[0]) / (more - fewer),
        products=str(arithmetic.dtype or torch.float32).removeprefix("torch."),
    )


def read_text(path: Path | None) -> EncodedText:
    """The beginning of a file of sentences, or generated ones."""
    if path is not None:
        return encode_sentences(islice(read_sentences([path]), TRACED_TOKENS // LONG))
    generator = np.random.default_rng(0)
    types = tuple(f"word{number}" for number in range(MANY))
    tokens = (np.exp(generator.random(TRACED_TOKENS) * np.log(MANY)) - 1).astype(np.int32)
    return EncodedText(types, tokens, np.arange(0, TRACED_TOKENS + 1, LONG))


def store_bytes(architecture: BilmOptions) -> dict[str, float]:
    """Bytes of all layers of every token of the paper's corpora, as half floats."""
    card = EncoderCard("", "", architecture.layers + 1, 2 * architecture.projection_dim, repeats_halves=True)
    store = Store(Path(), card, _refuse, "float16")
    token = store.token_bytes(card.layers)
    return {name: corpus.examples * corpus.tokens * token for name, corpus in CORPORA.items()}


def _refuse() -> Encoder:
    raise BenchError("a plan must not encode anything")
