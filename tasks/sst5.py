"""Sentiment of five classes (SST-5; paper A.8), trained on phrases and tested on whole sentences.

The head is the biattentive classification network (McCann et al. 2017), with a text in both of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import ConfigDict, Field, PositiveInt
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.tokens import undo_escapes
from elmo_bench.data.trees import read_trees
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.metrics.accuracy import count_correct, score_accuracy
from elmo_bench.nn.dropout import Dropout
from elmo_bench.nn.layers import WordEmbedding
from elmo_bench.nn.lstm import BiLstm
from elmo_bench.task import Rate, Task
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths
from elmo_bench.types import Counts, DataError, Prediction, Scores, SplitFiles, UsageError, Words

CLASSES = 5  # from very negative to very positive
POOLINGS = 4


@dataclass(frozen=True)
class Sst5Example:
    """A sentence, or a phrase of one, with its sentiment from 0 (very negative) to 4 (very positive)."""

    id: str
    words: Words
    label: int


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Sst5HeadSettings:
    """Sizes and rates of the head; conf/task/sst5.yaml has the values and their sources."""

    word_dropout: Rate  # fraction of words read as unknown in training; not in the paper
    embedding_dropout: Rate
    pre_encoded: PositiveInt
    pre_encoded_dropout: Rate
    hidden: PositiveInt  # of both BiLSTMs, per direction
    pooled_dropout: Rate
    widths: tuple[PositiveInt, ...]  # of the layers between the poolings and the classes
    activation: Literal["relu", "maxout"]
    pieces: Annotated[int, Field(gt=1)]  # maxout only: linear functions per unit
    dropout: Rate  # after each of those layers


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Sst5Task(Task[Sst5Example]):
    """The Stanford Sentiment Treebank; the encoder reads a phrase as a separate text."""

    head: Sst5HeadSettings
    training: Literal["phrases", "sentences"]
    shortest_phrase: PositiveInt  # for training=phrases, in tokens

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def read(self, files: SplitFiles) -> Iterator[Sst5Example]:
        """Whole sentences; for training every phrase that is long enough, including whole sentences."""
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
        """None: the five classes are fixed."""
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
        """One label per line, as `score sst5` reads them together with the trees."""
        return "".join(f"{label}\n" for label in predictions)


class Sst5Head(nn.Module):
    """[words; ELMo] -> ReLU -> BiLSTM -> biattention -> BiLSTM -> [.; ELMo] -> four poolings -> classes."""

    fitting: ClassVar[Literal["gradient"]] = "gradient"

    def __init__(self, settings: Sst5HeadSettings, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        self.words = WordEmbedding(vocabularies.words, settings.word_dropout)
        inputs = self.words.dim + widths.at_input
        if not inputs:
            raise UsageError("words=none: task sst5 then reads ELMo alone; it needs elmo.where=input or both")
        self.pre_encode = nn.Sequential(
            Dropout(settings.embedding_dropout),
            nn.Linear(inputs, settings.pre_encoded),
            nn.ReLU(),
            Dropout(settings.pre_encoded_dropout),
        )
        self.encode = BiLstm(settings.pre_encoded, settings.hidden)
        self.integrate = BiLstm(3 * self.encode.dim, settings.hidden)
        pooled = self.integrate.dim + widths.at_output
        # without a bias, which would not change a softmax
        self.attend = nn.Linear(pooled, 1, bias=False)
        self.classify = classifier(POOLINGS * pooled, settings)

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """The mean loss of the batch's texts, and every class's score."""
        text = injected["text"]
        inputs = torch.cat([self.words(batch.fields["words"]), text.at_input], dim=2)  # (rows, time, inputs)
        encoded = self.encode(self.pre_encode(inputs), text.mask)  # (rows, time, 2 * hidden)
        integrated = self.integrate(compare_with_context(encoded, text.mask), text.mask)
        states = torch.cat([integrated, text.at_output], dim=2)  # (rows, time, states)
        logits = self.classify(pool(states, self.attend(states).squeeze(2), text.mask))  # (rows, classes)
        return HeadOutput(F.cross_entropy(logits, batch.fields["label"]), {"classes": logits})

    def probabilities(self, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
        """The probability of every class for every text."""
        return {"classes": output.scores["classes"].softmax(dim=1)}

    def decode(self, output: HeadOutput, batch: Batch) -> list[int]:
        """The best class of each text."""
        best: list[int] = output.scores["classes"].argmax(dim=1).tolist()
        return best


def compare_with_context(states: Tensor, mask: Tensor) -> Tensor:
    """Each state x with its attended mean c of the same text: [x; x - c; x * c]."""
    likeness = states @ states.transpose(1, 2)  # (rows, time, time)
    weights = likeness.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(dim=2)
    context = weights @ states  # (rows, time, dim)
    return torch.cat([states, states - context, states * context], dim=2)


def pool(states: Tensor, attention: Tensor, mask: Tensor) -> Tensor:
    """Maximum, minimum, mean and attended mean of the real tokens, (rows, 4 * dim)."""
    real = mask.unsqueeze(2)  # (rows, time, 1)
    highest = states.masked_fill(~real, -torch.inf).amax(dim=1)
    lowest = states.masked_fill(~real, torch.inf).amin(dim=1)
    mean = states.masked_fill(~real, 0).sum(dim=1) / real.sum(dim=1)
    weights = attention.masked_fill(~mask, -torch.inf).softmax(dim=1)  # (rows, time)
    attended = (weights.unsqueeze(1) @ states).squeeze(1)
    return torch.cat([highest, lowest, mean, attended], dim=1)


class Maxout(nn.Module):
    """A layer whose units are the maximum of several linear functions (Goodfellow et al. 2013)."""

    def __init__(self, inputs: int, outputs: int, pieces: int) -> None:
        super().__init__()
        self.pieces = pieces
        self.linear = nn.Linear(inputs, outputs * pieces)

    def forward(self, x: Tensor) -> Tensor:
        highest: Tensor = self.linear(x).unflatten(1, (-1, self.pieces)).amax(dim=2)
        return highest  # (rows, outputs)


def classifier(inputs: int, settings: Sst5HeadSettings) -> nn.Sequential:
    """Dropout, hidden layers with dropout after each, and one score per class."""
    layers: list[nn.Module] = [Dropout(settings.pooled_dropout)]
    for width in settings.widths:
        if settings.activation == "maxout":
            layers.append(Maxout(inputs, width, settings.pieces))
        else:
            layers += [nn.Linear(inputs, width), nn.ReLU()]
        layers.append(Dropout(settings.dropout))
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, CLASSES))
