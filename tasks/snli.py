"""Textual entailment (SNLI; paper A.3): a premise entails a hypothesis, contradicts it, or does neither.

The head is ESIM, the enhanced sequential inference model (Chen et al. 2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict, NonNegativeFloat, PositiveInt
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.snli import LABELS, read_snli
from elmo_bench.data.tokens import tokenise
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.metrics.accuracy import count_correct, score_accuracy
from elmo_bench.nn.dropout import Dropout, VariationalDropout
from elmo_bench.nn.initialisation import make_keras_linear
from elmo_bench.nn.layers import WordEmbedding
from elmo_bench.nn.lstm import BiLstm
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.task import Rate, Task
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths
from elmo_bench.types import Counts, Prediction, Scores, SplitFiles, UsageError, Words

MASKED_SCORE = float("-inf")


@dataclass(frozen=True)
class SnliExample:
    """A pair of sentences and the relation between them."""

    id: str
    premise: Words
    hypothesis: Words
    label: str


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SnliHeadSettings:
    """Sizes and rates of the head; conf/task/snli.yaml has the values and their sources."""

    hidden: PositiveInt  # per direction, and of the feed-forward layers
    word_dropout: Rate  # fraction of words read as unknown in training; not in the paper
    dropout: Rate  # variational at the LSTMs' input, standard in the output
    regularise: Literal["with_elmo", "always"]  # when the next two apply
    attention_dropout: Rate  # on the output of the attention
    l2: NonNegativeFloat  # Σ ‖W‖² over recurrent and feed-forward matrices


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SnliTask(Task[SnliExample]):
    """Pairs that the annotators agreed on; the others are left out and counted."""

    head: SnliHeadSettings

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def read(self, files: SplitFiles) -> Iterator[SnliExample]:
        """The labelled pairs of the files; raw and tokenised sentences give the same words."""
        if files.format != "snli":
            raise UsageError(f"format={files.format}: task snli reads snli")
        words = cache(tokenise)  # most premises occur in three pairs
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
            "label": torch.tensor(vocabularies["labels"].id_of(example.label)),
        }

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> SnliHead:
        return SnliHead(settings_in_force(self.head, widths), vocabularies, widths)

    def gold(self, example: SnliExample) -> Prediction:
        return example.label

    def count(self, example: SnliExample, prediction: Prediction) -> Counts:
        return count_correct([example.label], [prediction])

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_accuracy(counts)


def settings_in_force(settings: SnliHeadSettings, widths: Widths) -> SnliHeadSettings:
    """The settings of one head; with `with_elmo` the model without ELMo has no extra regularisation."""
    if settings.regularise == "always" or widths.has_elmo:
        return settings
    return replace(settings, attention_dropout=0.0, l2=0.0)


class SnliHead(nn.Module):
    """[words; ELMo] -> BiLSTM -> [.; ELMo] -> attention across the pair -> BiLSTM -> pooling -> class."""

    fitting: ClassVar[Literal["gradient"]] = "gradient"

    def __init__(self, settings: SnliHeadSettings, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        hidden = settings.hidden
        self.labels = vocabularies["labels"].items
        self.l2 = settings.l2
        self.words = WordEmbedding(vocabularies.words, settings.word_dropout)
        self.dropout = VariationalDropout(settings.dropout)
        inputs = self.words.dim + widths.at_input
        if inputs == 0:
            raise UsageError("words=none: task snli then reads ELMo alone; it needs elmo.where=input or both")
        self.encode = BiLstm(inputs, hidden)
        self.attention_dropout = Dropout(settings.attention_dropout)
        self.project = make_keras_linear(4 * (self.encode.dim + widths.at_output), hidden)
        self.compose = BiLstm(hidden, hidden)
        self.classify = nn.Sequential(
            Dropout(settings.dropout),
            make_keras_linear(4 * self.compose.dim, hidden),
            nn.ReLU(),
            Dropout(settings.dropout),
            make_keras_linear(hidden, len(self.labels)),
        )

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """Mean cross-entropy and the penalty on the weights; every label's score."""
        sides = (injected["premise"], injected["hypothesis"])
        time = max(side.mask.shape[1] for side in sides)
        # one batch of premises first, then hypotheses; tokens are those of its packing
        packing = Packing.of(stack([side.mask for side in sides], time))
        ids = stack([batch.fields["premise"], batch.fields["hypothesis"]], time)
        words = self.words(ids.flatten()[packing.forwards])  # (tokens, dim)
        at_input, at_output = (
            packing.pack(stack([getattr(side, place) for side in sides], time))
            for place in ("at_input", "at_output")
        )
        inputs = self.dropout.drop_packed(torch.cat([words, at_input], dim=1), packing)
        states = torch.cat([self.encode.read(inputs, packing), at_output], dim=1)  # (tokens, states)
        halves = packing.unpack(states).chunk(2)  # (examples, time, states)
        texts = [half[:, : side.mask.shape[1]] for half, side in zip(halves, sides, strict=True)]
        attended = attend(*texts, *(side.mask for side in sides))
        enhanced = self.enhance(states, packing.pack(stack(attended, time)))  # (tokens, hidden)
        composed = self.compose.read(self.dropout.drop_packed(enhanced, packing), packing)
        premise, hypothesis = pool(packing.unpack(composed), packing.mask).chunk(2)
        logits = self.classify(torch.cat([premise, hypothesis], dim=1))  # (examples, labels)
        loss = F.cross_entropy(logits, batch.fields["label"])
        return HeadOutput(loss + self.penalty(), {"labels": logits})

    def enhance(self, own: Tensor, other: Tensor) -> Tensor:
        """Each word compared with its attended mean of the other side, (tokens, hidden)."""
        compared = torch.cat([own, other, own - other, own * other], dim=1)
        projected = multiply_with_gradient(
            self.attention_dropout(compared), self.project.weight, self.project.bias
        )
        return F.relu(projected)

    def penalty(self) -> Tensor:
        """The penalty on the matrices of LSTMs and feed-forward layers, without biases and word vectors."""
        matrices = [weight for name, weight in self.named_parameters() if not name.startswith("words.")]
        squares = [weight.square().sum() for weight in matrices if weight.dim() == 2]
        return self.l2 * torch.stack(squares).sum()

    def probabilities(self, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
        """The probability of every label for every pair."""
        return {"labels": output.scores["labels"].softmax(dim=1)}

    def decode(self, output: HeadOutput, batch: Batch) -> list[str]:
        """The most probable label of each pair."""
        return [self.labels[label] for label in output.scores["labels"].argmax(1).tolist()]


def stack(sides: Sequence[Tensor], time: int) -> Tensor:
    """Premises followed by their hypotheses, (examples, time before, ...) each, as one batch."""
    return torch.cat([widen(side, time) for side in sides])


def widen(rows: Tensor, time: int) -> Tensor:
    """(rows, time before, ...) with zeros at the end up to `time`."""
    missing = rows.new_zeros((len(rows), time - rows.shape[1], *rows.shape[2:]))
    return torch.cat([rows, missing], dim=1)


def attend(
    premise: Tensor, hypothesis: Tensor, premise_mask: Tensor, hypothesis_mask: Tensor
) -> list[Tensor]:
    """For every word of each side of a pair the mean of the other side's, weighted by similarity."""
    likeness = premise @ hypothesis.transpose(1, 2)  # (examples, premise time, hypothesis time)
    over_hypothesis = likeness.masked_fill(~hypothesis_mask.unsqueeze(1), MASKED_SCORE).softmax(2)
    over_premise = likeness.masked_fill(~premise_mask.unsqueeze(2), MASKED_SCORE).softmax(1)
    return [over_hypothesis @ hypothesis, over_premise.transpose(1, 2) @ premise]


def pool(states: Tensor, mask: Tensor) -> Tensor:
    """Mean and maximum over the real words, (rows, 2 * states)."""
    real = mask.unsqueeze(2)
    mean = (states * real).sum(1) / real.sum(1)
    highest = states.masked_fill(~real, MASKED_SCORE).amax(1)
    return torch.cat([mean, highest], dim=1)
