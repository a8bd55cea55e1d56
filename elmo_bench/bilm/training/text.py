"""Running text as numbers: every token the number of its type, kept on disk and memory-mapped."""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from elmo_bench.data.text import read_sentences, read_word_list, write_word_list
from elmo_bench.files import atomic_directory, find_damage
from elmo_bench.hashing import hash_file
from elmo_bench.types import DataError, Log, Words

TOKENS_PER_CHUNK = 1 << 20


@dataclass(frozen=True)
class EncodedText:
    """Sentences as type numbers; types stand by falling frequency, ties in alphabetical order."""

    types: tuple[str, ...]
    tokens: NDArray[np.int32]  # (tokens,)
    starts: NDArray[np.int64]  # (sentences + 1,)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(sentences,)"""
        return np.diff(self.starts)

    def spread(self, tokens: int) -> EncodedText:
        """Every n-th sentence, for about so many tokens together from all parts of the text."""
        chosen = range(0, len(self), max(1, round(len(self.tokens) / tokens)))
        pieces = [self.tokens[self.starts[number] : self.starts[number + 1]] for number in chosen]
        return EncodedText(self.types, np.concatenate(pieces), _starts([self.lengths[list(chosen)]]))

    def __len__(self) -> int:
        return len(self.starts) - 1


def encode_sentences(sentences: Iterable[Words]) -> EncodedText:
    """Number the tokens of some sentences in memory."""
    numbering = _Numbering()
    pieces = list(numbering.number(sentences))
    if not pieces:
        raise DataError("text:1: expected at least one sentence, got none")
    provisional = np.concatenate([ids for ids, _ in pieces])
    types, rank = _by_frequency(numbering.types, _counts(provisional, len(numbering.types)))
    return EncodedText(types, rank[provisional], _starts([lengths for _, lengths in pieces]))


def encode_shards(paths: Sequence[Path], directory: Path, log: Log) -> EncodedText:
    """Number the tokens of some shards once, into files of `directory`; later calls map these files."""
    source = fingerprint_files(paths)
    mark = directory / "source.json"
    damage = find_damage(directory)
    if damage or json.loads(mark.read_text()) != source:
        if os.path.lexists(directory):
            log(f"{directory}: {damage or 'of another text'}; making it again")
        with atomic_directory(directory) as partial:
            _write_encoded(paths, partial)
            (partial / mark.name).write_text(json.dumps(source))
    return EncodedText(
        read_word_list(directory / "types.txt"),
        np.memmap(directory / "tokens.int32", dtype=np.int32, mode="r"),
        np.fromfile(directory / "starts.int64", dtype=np.int64),
    )


def count_shared(heldout: EncodedText, training: EncodedText) -> int:
    """The number of held-out sentences that are also in the training text, word by word."""
    ids = {word: number for number, word in enumerate(training.types)}
    new = itertools.count(len(ids))  # words that the training text lacks
    renumbered = np.array([ids[word] if word in ids else next(new) for word in heldout.types])
    of_heldout = np.concatenate(list(_hash_sentences(heldout, renumbered)))
    shared = np.zeros(len(of_heldout), dtype=bool)
    for chunk in _hash_sentences(training, np.arange(len(ids))):
        shared |= np.isin(of_heldout, chunk)
    return int(shared.sum())


def _hash_sentences(text: EncodedText, ids: NDArray[np.int64]) -> Iterator[NDArray[np.uint64]]:
    """A hash of every sentence, from the ids of its words and their positions; in chunks."""
    first = 0
    while first < len(text):
        last = int(np.searchsorted(text.starts, text.starts[first] + TOKENS_PER_CHUNK, side="right")) - 1
        last = max(last, first + 1)
        starts = text.starts[first : last + 1]
        words = ids[text.tokens[starts[0] : starts[-1]]].astype(np.uint64)
        lengths = np.diff(starts)
        positions = (np.arange(len(words)) - np.repeat(starts[:-1] - starts[0], lengths)).astype(np.uint64)
        yield np.add.reduceat(_scramble(_scramble(words) + positions), starts[:-1] - starts[0])
        first = last


def _scramble(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of every value over all 64 (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def fingerprint_files(paths: Iterable[Path]) -> dict[str, str]:
    """sha256 by file name."""
    return {path.name: hash_file(path) for path in paths}


def _write_encoded(paths: Sequence[Path], directory: Path) -> None:
    numbering = _Numbering()
    lengths = []
    counts = np.zeros(0, dtype=np.int64)
    provisional, final = directory / "provisional.int32", directory / "tokens.int32"
    with provisional.open("wb") as file:
        for ids, chunk_lengths in numbering.number(read_sentences(paths)):
            ids.tofile(file)
            lengths.append(chunk_lengths)
            counts = np.pad(counts, (0, len(numbering.types) - len(counts)))
            counts += _counts(ids, len(numbering.types))
    if not lengths:
        raise DataError(f"{paths[0]}:1: expected at least one sentence, got none")
    types, rank = _by_frequency(numbering.types, counts)
    with provisional.open("rb") as source, final.open("wb") as file:
        while len(ids := np.fromfile(source, dtype=np.int32, count=TOKENS_PER_CHUNK)):
            rank[ids].tofile(file)
    provisional.unlink()
    _starts(lengths).tofile(directory / "starts.int64")
    write_word_list(directory / "types.txt", types)


class _Numbering:
    """Numbers types in the order of their first appearance."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__

    @property
    def types(self) -> list[str]:
        return list(self._numbers)

    def number(self, sentences: Iterable[Words]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        """Chunks of whole sentences: the numbers of their tokens and their lengths."""
        look_up = self._numbers.__getitem__
        ids: list[int] = []
        lengths: list[int] = []
        for words in sentences:
            ids.extend(map(look_up, words))
            lengths.append(len(words))
            if len(ids) >= TOKENS_PER_CHUNK:
                yield np.array(ids, dtype=np.int32), np.array(lengths, dtype=np.int64)
                ids, lengths = [], []
        if lengths:
            yield np.array(ids, dtype=np.int32), np.array(lengths, dtype=np.int64)


def _counts(ids: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    return np.bincount(ids, minlength=size).astype(np.int64)


def _by_frequency(
    types: Sequence[str], counts: NDArray[np.int64]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The types by falling count, and for each old number its new one."""
    order = sorted(range(len(types)), key=lambda number: (-counts[number], types[number]))
    rank = np.empty(len(types), dtype=np.int32)
    rank[order] = np.arange(len(types), dtype=np.int32)
    return tuple(types[number] for number in order), rank


def _starts(lengths: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate(lengths))])
