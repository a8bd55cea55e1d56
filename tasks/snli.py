"""Entailment (paper A.3): whether a premise entails a hypothesis, contradicts it or does neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import ClassVar

import torch
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from elmo_bench.data.snli import LABELS, read_snli
from elmo_bench.data.tokens import words_of
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.heads.snli import SnliHead, SnliHeadSettings
from elmo_bench.metrics.accuracy import count_correct, score_accuracy
from elmo_bench.task import Task
from elmo_bench.tensors import Widths
from elmo_bench.types import Counts, Prediction, Scores, SplitFiles, UsageError, Words


@dataclass(frozen=True)
class SnliExample:
    """A pair of sentences and what the first says of the second."""

    id: str
    premise: Words
    hypothesis: Words
    label: str


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SnliTask(Task[SnliExample]):
    """Pairs that the annotators agreed on; the others are left out and counted."""

    head: SnliHeadSettings = Field(default_factory=SnliHeadSettings)

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def read(self, files: SplitFiles) -> Iterator[SnliExample]:
        """The labelled pairs of the files; raw and tokenised sentences come out as the same words."""
        if files.format != "snli":
            raise UsageError(f"format={files.format}: task snli reads snli")
        words = cache(words_of)  # most premises stand in three pairs
        for place, path in enumerate(files.paths, start=1):
            content = read_snli(path)
            files.leave_out("pairs without a label", content.unlabelled)
            files.leave_out("pairs with an empty sentence", content.blank)
            for pair in content.pairs:
                name = f"{files.split}-{place}-{pair.line}"
                yield SnliExample(name, words(pair.premise), words(pair.hypothesis), pair.label)

    def sentences(self, example: SnliExample) -> Mapping[str, tuple[Words, ...]]:
        return {"premise": (example.premise,), "hypothesis": (example.hypothesis,)}

    def vocabularies(self, examples: Sequence[SnliExample]) -> Mapping[str, Vocabulary]:
        return {"labels": Vocabulary.closed(LABELS)}

    def index(self, example: SnliExample, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        return {
            "premise": vocabularies.words.ids(example.premise),  # (premise time,)
            "hypothesis": vocabularies.words.ids(example.hypothesis),  # (hypothesis time,)
            "label": torch.tensor(vocabularies["labels"].number(example.label)),
        }

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> SnliHead:
        return SnliHead(self.head, vocabularies, widths)

    def gold(self, example: SnliExample) -> Prediction:
        return example.label

    def count(self, example: SnliExample, prediction: Prediction) -> Counts:
        return count_correct([example.label], [prediction])

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_accuracy(counts)
