"""Running text for a language model: shards of one tokenised sentence per line, and the words it predicts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from elmo_bench.data.lines import read_lines
from elmo_bench.types import DataError, DataMissingError, UsageError, Words

SENTENCE_START = "<S>"
SENTENCE_END = "</S>"
UNKNOWN_WORD = "<UNK>"
MARKERS = (SENTENCE_START, SENTENCE_END, UNKNOWN_WORD)


@dataclass(frozen=True)
class TextCorpus:
    """The shards that a language model is trained on, and the held-out shards that it is evaluated on."""

    train: tuple[Path, ...]
    heldout: tuple[Path, ...]

    @classmethod
    def find(cls, directory: Path, train: str = "train*", heldout: str = "heldout*") -> TextCorpus:
        """The shards of a directory, by patterns of their names."""
        if not directory.is_dir():
            raise DataMissingError(
                f"{directory}: no such directory (config key corpus); expected plain or .gz files with one "
                "tokenised sentence per line"
            )
        for use, pattern in (("train", train), ("heldout", heldout)):
            if not pattern or Path(pattern).is_absolute():
                raise UsageError(
                    f"{use}: expected names of files in the directory corpus={directory}, "
                    f'such as {use}="{use}*", got {pattern!r}'
                )
        found = {key: tuple(sorted(directory.glob(key))) for key in (train, heldout)}
        for use, pattern in (("train", train), ("heldout", heldout)):
            if not found[pattern]:
                raise DataMissingError(
                    f"{directory}: no file is named {pattern} (config key {use}); a language model needs "
                    "training text and separate held-out text"
                )
        return cls(found[train], found[heldout])


def read_sentences(paths: Iterable[Path]) -> Iterator[Words]:
    """The non-empty lines of plain or gzipped shards, split at blanks, without holding a shard in memory."""
    for path in paths:
        for _, line in read_lines(path):
            if words := tuple(line.split()):
                yield words


def read_word_list(path: Path) -> Words:
    """The words of a list, one per line."""
    return tuple(line for _, line in read_lines(path))


def write_word_list(path: Path, words: Iterable[str]) -> None:
    """A list of words, one per line."""
    path.write_text(_one_per_line(words), encoding="utf-8", newline="\n")


def _one_per_line(words: Iterable[str]) -> str:
    return "".join(f"{word}\n" for word in words)


@dataclass(frozen=True)
class TargetVocabulary:
    """The words that a softmax predicts, by decreasing frequency; all other words are `<UNK>`."""

    words: tuple[str, ...]

    @classmethod
    def of_frequent(cls, words_by_frequency: Sequence[str], size: int) -> TargetVocabulary:
        """The three markers (frequent themselves: one per sentence), then the most frequent words."""
        frequent = (word for word in words_by_frequency if word not in MARKERS)
        return cls((*MARKERS, *(word for word, _ in zip(frequent, range(size), strict=False))))

    @classmethod
    def read(cls, path: Path) -> TargetVocabulary:
        """One word per line; the markers may be on any line, as in files of other programs."""
        words = read_word_list(path)
        if len(set(words)) != len(words):
            raise DataError(
                f"{path}:1: expected every word once, got {len(words) - len(set(words))} repeated"
            )
        for marker in MARKERS:
            if marker not in words:
                raise DataError(f"{path}:1: expected a line {marker}, got none among {len(words)}")
        return cls(words)

    def write(self, path: Path) -> None:
        write_word_list(path, self.words)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def sha256(self) -> str:
        """The hash of its file; perplexities under different hashes are not comparable."""
        return hashlib.sha256(_one_per_line(self.words).encode("utf-8")).hexdigest()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def number(self, word: str) -> int:
        """The index of a word in the softmax."""
        return self._numbers.get(word, self._numbers[UNKNOWN_WORD])
