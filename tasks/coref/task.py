"""Coreference resolution (CoNLL-2012; paper A.6): which mentions of a document refer to the same entity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch
from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.data.batching import pad
from elmo_bench.data.coreference import Cluster, CoreferenceDocument, Mention, read_coreference
from elmo_bench.data.excerpts import join
from elmo_bench.data.tokens import name_span, undo_escapes
from elmo_bench.data.vocabulary import UNKNOWN, Vocabularies, Vocabulary, spell
from elmo_bench.metrics.coreference import count_coreference, score_coreference
from elmo_bench.task import Task
from elmo_bench.tensors import Widths
from elmo_bench.types import Counts, Excerpt, Prediction, Scores, SplitFiles, UsageError, Words

from .head import CorefHead, CorefHeadSettings


@dataclass(frozen=True)
class CorefExample:
    """One document, or one part of it, with its chains."""

    id: str
    sentences: tuple[Words, ...]
    speakers: tuple[str, ...]  # of every token
    genre: str
    clusters: tuple[Cluster, ...]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CorpusOptions:
    """What a corpus entry may say beside its files."""

    genre: str = ""  # a pattern whose first group, found in a document's name, is its genre
    drop_singletons: bool = False  # chains of one mention, which OntoNotes does not annotate


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CorefTask(Task[CorefExample]):
    """CoNLL-2012's task; predictions are clusters of [start, end) over the tokens of the document."""

    head: CorefHeadSettings

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "average_f1"
    higher_is_better: ClassVar[bool] = True
    answers_are_labels: ClassVar[bool] = False
    packages: ClassVar[tuple[str, ...]] = ("scipy",)  # the assignment of CEAF

    def read(self, files: SplitFiles) -> Iterator[CorefExample]:
        """The documents of the files, one after the other."""
        if files.format != "conll2012":
            raise UsageError(f"format={files.format}: task coref reads conll2012")
        options = read_options(files.options)
        for path in files.paths:
            for document in read_coreference(path):
                example = example_of(document, options)
                files.leave_out("chains of one mention", len(document.clusters) - len(example.clusters))
                yield example

    def sentences(self, example: CorefExample) -> Mapping[str, tuple[Words, ...]]:
        return {"document": example.sentences}

    def excerpts(self, example: CorefExample) -> Mapping[str, tuple[Excerpt, ...]]:
        return {"document": join(example.sentences)}

    def vocabularies(self, examples: Sequence[CorefExample]) -> Mapping[str, Vocabulary]:
        """Characters, and genres with one for whatever is unknown."""
        words = [word for example in examples for sentence in example.sentences for word in sentence]
        return {
            "characters": Vocabulary.open(character for word in words for character in word),
            "genres": Vocabulary.open(example.genre for example in examples if example.genre),
        }

    def index(self, example: CorefExample, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        characters, genres = vocabularies["characters"], vocabularies["genres"]
        spelt = [spell(sentence, characters) for sentence in example.sentences]
        speakers = Vocabulary.closed(example.speakers)
        mentions = [
            [*mention, number] for number, cluster in enumerate(example.clusters, 1) for mention in cluster
        ]
        words = [vocabularies.words.ids(sentence) for sentence in example.sentences]
        return {
            "words": pad_sequence(words, batch_first=True),  # (sentences, time)
            "characters": pad(spelt),  # (sentences, time, characters)
            "speakers": torch.tensor(speakers.ids(example.speakers)),  # (tokens,)
            "genre": torch.tensor(genres.id_of(example.genre or UNKNOWN)),  # ()
            "mentions": torch.tensor(mentions, dtype=torch.long).view(-1, 3),  # (mentions, start end cluster)
        }

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> CorefHead:
        return CorefHead(self.head, vocabularies, widths)

    def gold(self, example: CorefExample) -> Prediction:
        return [[list(mention) for mention in cluster] for cluster in example.clusters]

    def answers(self, example: CorefExample, prediction: Prediction) -> Mapping[str, str]:
        """The nearest earlier mention of the same entity, for every mention."""
        words = tuple(word for sentence in example.sentences for word in sentence)
        links: dict[str, str] = {}
        for cluster in prediction:
            names = [name_span(words, start, end) for start, end in sorted(cluster)]
            links |= dict(zip(names, ["first mention", *names], strict=False))
        return links

    def count(self, example: CorefExample, prediction: Prediction) -> Counts:
        return count_coreference(
            example.clusters, [[Mention(*pair) for pair in pairs] for pairs in prediction]
        )

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_coreference(counts)


def read_options(options: Mapping[str, Any]) -> CorpusOptions:
    """The options of a corpus entry, checked."""
    known = CorpusOptions.__dataclass_fields__
    for key in options:
        if key not in known:
            raise UsageError(f"options.{key}: task coref knows {' and '.join(known)} only")
    try:
        chosen = CorpusOptions(**options)
        groups = re.compile(chosen.genre).groups
    except ValidationError as error:
        wrong = error.errors()[0]
        raise UsageError(f"options.{wrong['loc'][0]}={wrong['input']}: {wrong['msg']}") from None
    except re.error as error:
        raise UsageError(f"options.genre={options['genre']}: not a regular expression ({error})") from None
    if chosen.genre and not groups:
        raise UsageError(f"options.genre={chosen.genre}: expected a group in brackets around the genre")
    return chosen


def example_of(document: CoreferenceDocument, options: CorpusOptions) -> CorefExample:
    """A document as the task sees it: escapes undone, its genre named, singletons dropped if so wished."""
    found = re.search(options.genre, document.name) if options.genre else None
    clusters = document.clusters
    if options.drop_singletons:
        clusters = tuple(cluster for cluster in clusters if len(cluster) > 1)
    return CorefExample(
        document.id,
        tuple(undo_escapes(sentence) for sentence in document.sentences),
        tuple(speaker for sentence in document.speakers for speaker in sentence),
        (found[1] or "") if found else "",
        clusters,
    )
