"""Named entity recognition (paper A.7): which words name a person, a place, an organisation, and so on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import torch
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.data.columns import tagged_columns
from elmo_bench.data.conll2003 import read_entities
from elmo_bench.data.tags import OUTSIDE, convert_tags, split_tag
from elmo_bench.data.tokens import undo_escapes
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.heads.ner import NerHead, NerHeadSettings
from elmo_bench.metrics.entities import count_entities, score_entities
from elmo_bench.task import Task
from elmo_bench.tensors import Widths
from elmo_bench.types import Counts, Prediction, Scores, SplitFiles, Words


@dataclass(frozen=True)
class NerExample:
    """One sentence with its tags in IOB2."""

    id: str
    words: Words
    tags: tuple[str, ...]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class NerTask(Task[NerExample]):
    """CoNLL-2003's task on any column file; tags are BIOUL inside and IOB2 outside."""

    head: NerHeadSettings = Field(default_factory=NerHeadSettings)

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "f1"
    higher_is_better: ClassVar[bool] = True

    def read(self, files: SplitFiles) -> Iterator[NerExample]:
        """The sentences of the files, one after the other."""
        sentences = (sentence for path in files.paths for sentence in read_entities(path))
        for number, sentence in enumerate(sentences, start=1):
            yield NerExample(f"{files.split}-{number}", undo_escapes(sentence.words), sentence.tags)

    def sentences(self, example: NerExample) -> Mapping[str, tuple[Words, ...]]:
        return {"text": (example.words,)}

    def vocabularies(self, examples: Sequence[NerExample]) -> Mapping[str, Vocabulary]:
        """Characters, and for every entity type seen all of its tags, whether seen or not."""
        kinds = {split_tag(tag)[1] for example in examples for tag in example.tags if tag != OUTSIDE}
        return {
            "characters": Vocabulary.open(c for example in examples for word in example.words for c in word),
            "tags": Vocabulary.closed(
                [OUTSIDE, *(f"{prefix}-{kind}" for kind in kinds for prefix in "BILU")]
            ),
        }

    def index(self, example: NerExample, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        characters, tags = vocabularies["characters"], vocabularies["tags"]
        bioul = convert_tags(example.tags, "BIOUL")
        # a type that a small training subset lacks cannot be predicted; only the loss takes it for O
        known = [tag if tag in tags else OUTSIDE for tag in bioul]
        spelt = [torch.tensor(characters.numbers(word)) for word in example.words]
        return {
            "words": vocabularies.words.ids(example.words),  # (time,)
            "characters": pad_sequence(spelt, batch_first=True),  # (time, characters)
            "tags": torch.tensor(tags.numbers(known)),  # (time,)
        }

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> NerHead:
        return NerHead(self.head, vocabularies, widths)

    def gold(self, example: NerExample) -> Prediction:
        return list(example.tags)

    def count(self, example: NerExample, prediction: Prediction) -> Counts:
        return count_entities(example.tags, prediction)

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_entities(counts)

    def render(self, examples: Sequence[NerExample], predictions: Sequence[Prediction]) -> str:
        """Columns `word gold predicted`, as conlleval reads them."""
        return tagged_columns(
            (row.words, row.tags, tags) for row, tags in zip(examples, predictions, strict=True)
        )
