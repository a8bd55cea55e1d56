"""Named entities in columns in the format of CoNLL-2003: the word first, the tag last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.data.columns import ColumnSentence, read_columns
from elmo_bench.data.lines import fault, require_any, shown
from elmo_bench.data.tags import chunks_of, recognise_scheme, split_tag, tags_of
from elmo_bench.types import Words

TAG_PREFIXES = ("O", "B", "I", "E", "S", "L", "U")


@dataclass(frozen=True)
class EntitySentence:
    """One sentence with its entity tags in IOB2, whatever the scheme of the file."""

    document: int  # the sentences of a document are consecutive; -DOCSTART- lines separate documents
    line: int
    words: Words
    tags: tuple[str, ...]


@dataclass(frozen=True)
class ScoredSentence:
    """One sentence with gold and predicted tags exactly as in the file."""

    words: Words
    gold: tuple[str, ...]
    predicted: tuple[str, ...]


def read_entities(path: Path) -> Iterator[EntitySentence]:
    """Sentences whose gold tags obey one scheme throughout the file; its tags become IOB2."""
    sentences = list(require_any(path, read_columns(path, minimum=2), "sentence"))
    tags = [sentence.column(-1) for sentence in sentences]
    scheme, index, found = recognise_scheme(tags)
    if found:
        raise fault(
            path,
            sentences[index].first_line + found.position,
            found.expected,
            found.got,
            f"all tags of a file must be of one scheme, and so far these are {scheme}",
        )
    for sentence, row in zip(sentences, tags, strict=True):
        iob2 = row if scheme == "IOB2" else tags_of(chunks_of(row), len(row), "IOB2")
        yield EntitySentence(sentence.document, sentence.first_line, sentence.column(0), iob2)


def read_scored(path: Path) -> Iterator[ScoredSentence]:
    """Sentences of a file `word ... gold predicted`; illegal sequences are accepted, unknown tags not."""
    # conlleval counts a document start as a word, which affects its accuracy and number of tokens
    for sentence in require_any(path, read_columns(path, minimum=3, keep_starts=True), "sentence"):
        _check_prefixes(path, sentence)
        yield ScoredSentence(sentence.column(0), sentence.column(-2), sentence.column(-1))


def _check_prefixes(path: Path, sentence: ColumnSentence) -> None:
    for number, row in enumerate(sentence.rows, start=sentence.first_line):
        for tag in row[-2:]:
            if split_tag(tag)[0] not in TAG_PREFIXES:
                raise fault(path, number, "a gold and a predicted tag such as O, B-PER, I-PER", shown(tag))
