"""Fine-grained sentiment (paper A.8): five classes, learnt from phrases and tested on whole sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from elmo_bench.data.tokens import undo_escapes
from elmo_bench.data.trees import read_trees
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.heads.sst5 import Sst5Head, Sst5HeadSettings
from elmo_bench.metrics.accuracy import count_correct, score_accuracy
from elmo_bench.task import Task
from elmo_bench.tensors import Widths
from elmo_bench.types import Counts, DataError, Prediction, Scores, SplitFiles, UsageError, Words


@dataclass(frozen=True)
class Sst5Example:
    """A sentence, or a phrase of one, with its sentiment from 0 (very negative) to 4 (very positive)."""

    id: str
    words: Words
    label: int


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Sst5Task(Task[Sst5Example]):
    """The Stanford Sentiment Treebank; the encoder reads a phrase as a text of its own."""

    head: Sst5HeadSettings = Field(default_factory=Sst5HeadSettings)
    training: Literal["phrases", "sentences"] = "phrases"
    shortest_phrase: int = Field(default=4, gt=0)  # of training=phrases, in tokens

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def read(self, files: SplitFiles) -> Iterator[Sst5Example]:
        """Whole sentences; of the training set every phrase that is long enough, sentences among them."""
        if files.format != "trees":
            raise UsageError(f"format={files.format}: task sst5 reads trees")
        by_phrases = files.split == "train" and self.training == "phrases"
        trees = [tree for path in files.paths for tree in read_trees(path)]
        chosen = [
            (f"{files.split}-{number}-{place}", tree, phrase)
            for number, tree in enumerate(trees, start=1)
            for place, phrase in enumerate(tree.phrases if by_phrases else tree.phrases[:1], start=1)
            if not by_phrases or phrase.end - phrase.start >= self.shortest_phrase
        ]
        if not chosen:
            expected = f"a phrase of {self.shortest_phrase} tokens (task.settings.shortest_phrase)"
            raise DataError(f"{files.paths[-1]}:{trees[-1].line}: expected {expected}, got shorter ones only")
        for name, tree, phrase in chosen:
            yield Sst5Example(name, undo_escapes(tree.words[phrase.start : phrase.end]), phrase.label)

    def sentences(self, example: Sst5Example) -> Mapping[str, tuple[Words, ...]]:
        return {"text": (example.words,)}

    def vocabularies(self, examples: Sequence[Sst5Example]) -> Mapping[str, Vocabulary]:
        """None: the five classes are the task's."""
        return {}

    def index(self, example: Sst5Example, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        return {
            "words": vocabularies.words.ids(example.words),  # (time,)
            "label": torch.tensor(example.label),  # ()
        }

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> Sst5Head:
        return Sst5Head(self.head, vocabularies, widths)

    def gold(self, example: Sst5Example) -> Prediction:
        return example.label

    def count(self, example: Sst5Example, prediction: Prediction) -> Counts:
        return count_correct([example.label], [prediction])

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_accuracy(counts)

    def render(self, examples: Sequence[Sst5Example], predictions: Sequence[Prediction]) -> str:
        """One label per line, as `score sst5` reads them beside the trees."""
        return "".join(f"{label}\n" for label in predictions)
