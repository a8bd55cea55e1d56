"""Which tokens a language model reads and predicts at which step, in both kinds of batches."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

from elmo_bench.bilm.training.batches import (
    BACKWARD,
    FORWARD,
    ContiguousStreams,
    Directed,
    SentenceBatches,
    TextBatch,
    TokenTable,
    read_through,
)
from elmo_bench.bilm.training.text import encode_sentences
from elmo_bench.data.text import SENTENCE_END, SENTENCE_START, UNKNOWN_WORD, TargetVocabulary
from elmo_bench.types import Words

CHOOSER = random.Random(3)
ALPHABET = [f"w{number}" for number in range(12)]
SENTENCES: list[Words] = [tuple(CHOOSER.choices(ALPHABET, k=CHOOSER.randint(1, 9))) for _ in range(150)]
TEXT = encode_sentences(SENTENCES)
VOCABULARY = TargetVocabulary.of_frequent(TEXT.types, 8)  # four types are unknown

Pair = tuple[str, str]


def pairs(words: Words, direction: int) -> list[Pair]:
    """What a direction reads and predicts in one sentence, by definition (paper 3.1)."""
    marked = [SENTENCE_START, *words, SENTENCE_END][:: 1 if direction == FORWARD else -1]
    known = [word if word in VOCABULARY.words else UNKNOWN_WORD for word in marked]
    return list(zip(marked[:-1], known[1:], strict=True))


def rows_of(directed: Directed, types: Words = TEXT.types) -> list[list[Pair]]:
    """Unpack: the pairs of every row in order of time."""
    rows: list[list[Pair]] = [[] for _ in range(directed.counts[0] if directed.counts else 0)]
    place = 0
    for count in directed.counts:
        for row in range(count):
            read = (*types, SENTENCE_START, SENTENCE_END)[directed.inputs[place]]
            rows[row].append((read, VOCABULARY.words[directed.targets[place]]))
            place += 1
    assert place == len(directed.inputs) == len(directed.targets)
    return rows


def both(batch: TextBatch) -> tuple[Directed, Directed]:
    return batch.forward, batch.backward


@pytest.mark.parametrize("tokens", [1, 20, 64, 10_000])
def test_an_epoch_of_sentence_batches_is_every_sentence_once(tokens: int) -> None:
    reader = SentenceBatches(TokenTable(TEXT, VOCABULARY), tokens, seed=1)
    batches = [reader.batch(0, step) for step in range(reader.steps(0))]
    for direction in (FORWARD, BACKWARD):
        rows = [tuple(row) for batch in batches for row in rows_of(both(batch)[direction])]
        assert Counter(rows) == Counter(tuple(pairs(words, direction)) for words in SENTENCES)
    for batch in batches:
        assert batch.predictions == len(batch.forward.inputs) == len(batch.backward.inputs)
        assert batch.predictions < tokens + 10 or len(rows_of(batch.forward)) == 1
        assert list(batch.forward.counts) == sorted(batch.forward.counts, reverse=True)


def test_both_directions_read_the_same_sentences_in_the_same_rows() -> None:
    reader = SentenceBatches(TokenTable(TEXT, VOCABULARY), 30, seed=1)
    for step in range(reader.steps(0)):
        ahead, back = (rows_of(directed) for directed in both(reader.batch(0, step)))
        for one, other in zip(ahead, back, strict=True):
            assert [read for read, _ in one[1:]] == [read for read, _ in other[1:]][::-1]


def test_batches_are_a_function_of_seed_epoch_and_step() -> None:
    table = TokenTable(TEXT, VOCABULARY)

    def inputs(seed: int, epoch: int, order: list[int]) -> list[list[int]]:
        reader = SentenceBatches(table, 40, seed)
        found = {step: reader.batch(epoch, step).forward.inputs.tolist() for step in order}
        return [found[step] for step in sorted(order)]

    assert inputs(1, 0, [0, 1, 2, 3]) == inputs(1, 0, [3, 1, 0, 2])
    assert inputs(1, 0, [0, 1, 2, 3]) != inputs(2, 0, [0, 1, 2, 3])
    assert inputs(1, 0, [0, 1, 2, 3]) != inputs(1, 1, [0, 1, 2, 3])


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", ["sentences", "streams"])
def test_processes_share_the_rows_by_their_number(kind: str, parts: int) -> None:
    table = TokenTable(TEXT, VOCABULARY)
    reader = SentenceBatches(table, 15, 1) if kind == "sentences" else ContiguousStreams(table, 7, 4, 1)
    counts = set()
    for step in range(reader.steps(0)):
        whole = reader.batch(0, step, 0, 1)
        shares = [reader.batch(0, step, part, parts) for part in range(parts)]
        assert {share.predictions for share in shares} == {whole.predictions}
        for direction in (FORWARD, BACKWARD):
            expected = rows_of(both(whole)[direction])
            found = [rows_of(both(share)[direction]) for share in shares]
            counts |= {len(rows) for rows in found}
            assert found == [expected[part::parts] for part in range(parts)]
    assert (0 in counts) == (kind == "sentences" and parts > 1)  # a batch may have fewer rows than processes


@pytest.mark.parametrize(("rows", "window"), [(1, 5), (4, 5), (3, 20)])
def test_streams_read_on_where_they_stopped(rows: int, window: int) -> None:
    """Each direction is one long line of whole sentences, dealt to the rows in equal parts."""
    reader = ContiguousStreams(TokenTable(TEXT, VOCABULARY), rows, window, seed=1)
    by_words = {tuple(pairs(words, d)): words for words in SENTENCES for d in (FORWARD, BACKWARD)}
    orders = []
    for direction in (FORWARD, BACKWARD):
        streams: list[list[Pair]] = [[] for _ in range(rows)]
        for step in range(reader.steps(0)):
            directed = both(reader.batch(0, step))[direction]
            assert directed.counts == (rows,) * window
            for stream, row in zip(streams, rows_of(directed), strict=True):
                stream.extend(row)
        first = SENTENCE_START if direction == FORWARD else SENTENCE_END
        sentences = []
        for stream in streams:
            starts = [place for place, (read, _) in enumerate(stream) if read == first]
            for start, end in pairwise(starts):
                sentences.append(by_words[tuple(stream[start:end])])  # whole, and of this text
        assert not Counter(sentences) - Counter(SENTENCES)  # none more often than it is there
        covered = sum(map(len, streams))
        total = sum(len(words) + 1 for words in SENTENCES)
        assert total - rows * window < covered <= total
        orders.append([len(words) for words in sentences])
    assert orders[0] != orders[1]  # the directions are shuffled apart


@pytest.mark.parametrize("window", [1, 7, 10_000])
def test_the_whole_text_is_read_through_in_its_own_order(window: int) -> None:
    """Both directions take the sentences in file order, each sentence in the direction's own."""
    batches = list(read_through(TokenTable(TEXT, VOCABULARY), window))
    assert {batch.predictions for batch in batches[:-1]} <= {window}
    for direction in (FORWARD, BACKWARD):
        rows = [rows_of(both(batch)[direction]) for batch in batches]
        assert {len(one) for one in rows} == {1}
        read = [pair for (row,) in rows for pair in row]
        assert read == [pair for words in SENTENCES for pair in pairs(words, direction)]


def test_a_sentence_longer_than_a_batch_is_read_whole() -> None:
    words: Words = tuple(CHOOSER.choices(ALPHABET, k=300))
    text = encode_sentences([*SENTENCES, words])
    reader = SentenceBatches(TokenTable(text, VOCABULARY), 50, seed=1)
    batches = [reader.batch(0, step) for step in range(reader.steps(0))]
    assert sum(batch.predictions for batch in batches) == len(text.tokens) + len(text)
    for direction in (FORWARD, BACKWARD):
        rows = [row for batch in batches for row in rows_of(both(batch)[direction], text.types)]
        assert [row for row in rows if len(row) > 50] == [pairs(words, direction)]


def test_unknown_words_are_counted_among_the_tokens() -> None:
    unknown = sum(word not in VOCABULARY.words for words in SENTENCES for word in words)
    assert TokenTable(TEXT, VOCABULARY).count_targets(VOCABULARY.number(UNKNOWN_WORD)) == unknown > 0
