"""Part-of-speech tagging (paper 5.3): a probe of the syntax that one frozen layer of the biLM represents.

The head: one linear layer on each token's vector, without any context of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.columns import tagged_columns
from elmo_bench.data.conll2012 import read_documents
from elmo_bench.data.conllu import read_conllu
from elmo_bench.data.excerpts import locate
from elmo_bench.data.tokens import name_span, undo_escapes
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.metrics.accuracy import count_correct, score_accuracy
from elmo_bench.nn.layers import WordEmbedding
from elmo_bench.task import Task
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths
from elmo_bench.types import (
    Counts,
    DataError,
    Excerpt,
    Prediction,
    Scores,
    SplitFiles,
    UsageError,
    Words,
)

NO_TAG = "_"  # CoNLL-U's mark for an empty column

Tagged = tuple[Words, tuple[str, ...], Excerpt | None]
"""A sentence of a file with its tags, and where it stands in its document."""


@dataclass(frozen=True)
class PosExample:
    """One sentence with a tag per word."""

    id: str
    words: Words
    tags: tuple[str, ...]
    excerpt: Excerpt | None = field(default=None, compare=False, repr=False)  # where it stands


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PosTask(Task[PosExample]):
    """Tagging by a linear probe; the treebank's own tags or the universal ones."""

    tags: Literal["xpos", "upos"]

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def read(self, files: SplitFiles) -> Iterator[PosExample]:
        """The sentences of the files in order."""
        if files.format not in ("conllu", "conll2012"):
            raise UsageError(f"format={files.format}: task pos reads conllu and conll2012")
        read = self._read_conllu if files.format == "conllu" else self._read_conll2012
        sentences = (sentence for path in files.paths for sentence in read(path))
        for number, (words, tags, excerpt) in enumerate(sentences, start=1):
            yield PosExample(f"{files.split}-{number}", undo_escapes(words), tags, excerpt)

    def _read_conllu(self, path: Path) -> Iterator[Tagged]:
        for sentence, excerpt in locate(read_conllu(path)):
            tags = sentence.specific if self.tags == "xpos" else sentence.universal
            if NO_TAG in tags:
                where = f"{path}:{sentence.line + tags.index(NO_TAG)}"
                raise DataError(f"{where}: expected a tag for task.settings.tags={self.tags}, got {NO_TAG}")
            yield sentence.words, tags, excerpt

    def _read_conll2012(self, path: Path) -> Iterator[Tagged]:
        if self.tags == "upos":
            raise UsageError("task.settings.tags=upos: conll2012 files have treebank tags only; use xpos")
        sentences = (row for document in read_documents(path) for row in document.sentences)
        for sentence, excerpt in locate(sentences):
            yield sentence.words, sentence.tags, excerpt

    def sentences(self, example: PosExample) -> Mapping[str, tuple[Words, ...]]:
        return {"text": (example.words,)}

    def excerpts(self, example: PosExample) -> Mapping[str, tuple[Excerpt, ...]] | None:
        return {"text": (example.excerpt,)} if example.excerpt else None

    def vocabularies(self, examples: Sequence[PosExample]) -> Mapping[str, Vocabulary]:
        return {"tags": Vocabulary.closed(tag for example in examples for tag in example.tags)}

    def index(self, example: PosExample, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        tags = vocabularies["tags"]
        # a tag that the training set lacks cannot be predicted; the loss treats it as another tag
        known = [tags.id_of(tag) if tag in tags else 0 for tag in example.tags]
        return {"words": vocabularies.words.ids(example.words), "tags": torch.tensor(known)}  # (time,) each

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> PosHead:
        return PosHead(vocabularies, widths)

    def gold(self, example: PosExample) -> Prediction:
        return list(example.tags)

    def answers(self, example: PosExample, prediction: Prediction) -> Mapping[str, str]:
        """The tag of every word."""
        tags = enumerate(prediction)
        return {name_span(example.words, place, place + 1): tag for place, tag in tags}

    def count(self, example: PosExample, prediction: Prediction) -> Counts:
        return count_correct(example.tags, prediction)

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_accuracy(counts)

    def render(self, examples: Sequence[PosExample], predictions: Sequence[Prediction]) -> str:
        """Columns `word gold predicted`, as `score accuracy` reads them."""
        return tagged_columns(
            (row.words, row.tags, tags) for row, tags in zip(examples, predictions, strict=True)
        )


class PosHead(nn.Module):
    """[words; ELMo] -> linear -> softmax over tags."""

    fitting: ClassVar[Literal["gradient"]] = "gradient"

    def __init__(self, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        if widths.at_output:
            raise UsageError("elmo.where: a linear probe has no recurrent layer to add to; use input or none")
        self.tags = vocabularies["tags"].items
        self.words = WordEmbedding(vocabularies.words)
        inputs = self.words.dim + widths.at_input
        # as in nn.Linear, which warns if there is neither a word vector nor ELMo
        reach = max(inputs, 1) ** -0.5
        self.weight = nn.Parameter(torch.empty(len(self.tags), inputs).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.zeros(len(self.tags)))

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """The mean loss of the batch's tokens, and every tag's score."""
        text = injected["text"]
        words = self.words(batch.fields["words"])
        inputs = torch.cat([words, text.at_input], dim=2)  # (rows, time, inputs)
        scores = F.linear(inputs, self.weight, self.bias)  # (rows, time, tags)
        loss = F.cross_entropy(scores[text.mask], batch.fields["tags"][text.mask])
        return HeadOutput(loss, {"tags": scores})

    def loss_weight(self, batch: Batch) -> float:
        """The tokens that the loss is a mean over."""
        return float(batch.streams["text"].mask.sum())

    def probabilities(self, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
        """The probability of every tag for every token."""
        return {"tags": output.scores["tags"].softmax(dim=2)}

    def decode(self, output: HeadOutput, batch: Batch) -> list[list[str]]:
        """The best tag of every token."""
        best = output.scores["tags"].argmax(dim=2).tolist()
        lengths = batch.streams["text"].mask.sum(1).tolist()
        return [[self.tags[tag] for tag in row[:length]] for row, length in zip(best, lengths, strict=True)]
